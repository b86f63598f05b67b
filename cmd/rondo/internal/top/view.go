package top

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/internal/quantity"
)

// SparkRows is how many rows a sparkline has at most.
const SparkRows = 32

// A View is a window of a model on the screen.
type View struct {
	Model  *Model
	Now    func() time.Time
	ASCII  bool
	Paused bool
	Err    error // of the last reading

	cursor  int    // of the lines shown
	first   int    // line at the top of the window
	height  int    // lines in the window
	held    string // name of the line that the cursor follows; empty: it stays where it is
	editing bool   // the filter is being typed
	help    bool
}

// Visible returns the lines in the window.
func (v *View) Visible() []*Line {
	shown := v.Model.Shown()
	first := min(v.first, len(shown))
	return shown[first:min(len(shown), first+max(v.height, 1))]
}

// Unread reports whether a line in the window lacks rows for its sparkline.
func (v *View) Unread() bool {
	for _, l := range v.Visible() {
		if l.asked < SparkRows {
			return true
		}
	}
	return false
}

// Selected returns the line at the cursor, nil if no line is shown.
func (v *View) Selected() *Line {
	if shown := v.Model.Shown(); v.cursor < len(shown) {
		return shown[v.cursor]
	}
	return nil
}

// Arrange sorts and filters the lines again. The cursor stays at its line, unless it stands at the
// top, where it stays.
func (v *View) Arrange() {
	v.Model.Arrange()
	shown := v.Model.Shown()
	if v.held != "" && v.cursor > 0 {
		for i, l := range shown {
			if l.Name == v.held {
				v.first += i - v.cursor
				v.cursor = i
				break
			}
		}
	}
	v.move(0)
}

// move moves the cursor, and the window if it must.
func (v *View) move(by int) {
	n := len(v.Model.Shown())
	v.cursor = max(0, min(v.cursor+by, n-1))
	h := max(1, v.height)
	v.first = max(0, min(v.first, v.cursor, n-h))
	v.first = max(v.first, v.cursor-h+1)
	v.held = ""
	if l := v.Selected(); l != nil {
		v.held = l.Name
	}
}

// Draw returns the screen.
func (v *View) Draw(width, height int) *chart.Grid {
	g := chart.NewGrid(width, height)
	v.heading(g)
	if v.help {
		v.putHelp(g)
		v.footer(g)
		return g
	}
	v.height = max(1, height-3)
	v.move(0)
	c := v.columns(width)
	c.put(g, 1, c.titles(v.Model), chart.Style{Bold: true, Dim: false})
	for i, l := range v.Visible() {
		style := chart.Style{}
		if v.first+i == v.cursor {
			style.Reverse = true
			g.Fill(2+i, style)
		}
		c.put(g, 2+i, c.line(l, v.Now(), v.ASCII), style)
		if l.Change != 0 && !math.IsNaN(l.Change) && !style.Reverse {
			c.paint(g, 2+i, l.Change > 0)
		}
	}
	if len(v.Model.Shown()) == 0 && height > 3 {
		text := "no series yet"
		if v.Model.Filter != "" {
			text = "nothing fits the filter"
		} else if v.Model.Passes() == 0 {
			text = "reading…"
			if v.ASCII {
				text = "reading"
			}
		}
		g.Put(2, 3, text, chart.Style{Dim: true})
	}
	v.footer(g)
	return g
}

func (v *View) heading(g *chart.Grid) {
	series, lines := v.Model.Counts()
	text := fmt.Sprintf("%s series, %s sources", grouped(series), grouped(lines))
	if g.Width < 60 {
		text = grouped(lines) + " sources"
	}
	if v.Model.Passes() == 0 {
		text += " so far"
	}
	if v.Model.Filter != "" || v.editing {
		text += fmt.Sprintf(", %s fit", grouped(len(v.Model.Shown())))
	}
	clock := v.Now().Format("15:04:05")
	x := g.Put(0, 0, "rondo top", chart.Style{Bold: true})
	g.Put(x+2, 0, chart.Fit(text, max(0, g.Width-x-4-len(clock)), "~"), chart.Style{})
	g.PutRight(g.Width, 0, clock, chart.Style{Dim: true})
}

// footer writes the last line: what is wrong, the filter that is typed, or the keys.
func (v *View) footer(g *chart.Grid) {
	y := g.Height - 1
	switch {
	case v.editing:
		x := g.Put(0, y, "filter: "+v.Model.Filter, chart.Style{Bold: true})
		x = g.Put(x, y, " ", chart.Style{Reverse: true})
		g.Put(x+2, y, "enter keeps it, esc clears it", chart.Style{Dim: true})
	case v.Err != nil:
		g.Put(0, y, "ERROR: "+v.Err.Error(), chart.Style{Bold: true})
	default:
		x := 0
		if v.Paused {
			x = g.Put(x, y, "paused", chart.Style{Bold: true}) + 2
		}
		if v.Model.Filter != "" {
			x = g.Put(x, y, "filter: "+v.Model.Filter, chart.Style{Bold: true}) + 2
		}
		for _, k := range []string{"q quit", "? help", "/ filter", "enter plot", "space pause", "c change", "r rate", "v value", "n name", "a age"} {
			if x+len(k) > g.Width {
				break
			}
			x = g.Put(x, y, k, chart.Style{Dim: true}) + 2
		}
	}
}

var helpLines = []string{
	"A line is a data source. VALUE is its newest row. CHANGE is the difference to",
	"the row before, in percent of the larger of the two; PER SEC is the same in",
	"units a second. AGE is the time since the last update. Sorted by change, that",
	"line comes first whose newest row is most unlike the rows before.",
	"",
	"c r v n a    sort by change, change a second, value, name, age;",
	"             the same key again turns the order round",
	"/            show only names with the words typed; esc clears it",
	"arrows j k   move; also pgup, pgdn, home, end",
	"enter        plot the line; esc or q goes back",
	"space        pause, and go on",
	"q ctrl-c     quit; any other key closes this help",
}

func (v *View) putHelp(g *chart.Grid) {
	for i, line := range helpLines[:max(0, min(len(helpLines), g.Height-3))] {
		g.Put(0, 2+i, line, chart.Style{})
	}
}

// Key obeys a key. The results say whether the program ends, whether the line at the cursor is to
// be plotted, and whether rows are to be read at once.
func (v *View) Key(name string) (quit, plot, read bool) {
	if v.editing {
		v.edit(name)
		return false, false, true
	}
	if v.help {
		v.help = false
		return name == "q", false, false
	}
	switch name {
	case "q":
		return true, false, false
	case "esc":
		v.setFilter("")
	case "?", "h":
		v.help = true
	case "/":
		v.editing = true
	case " ", "p":
		v.Paused = !v.Paused
	case "enter":
		return false, v.Selected() != nil, false
	case "c", "r", "v", "n", "a":
		v.sort(map[string]Key{"c": ByChange, "r": ByRate, "v": ByValue, "n": ByName, "a": ByAge}[name])
	default:
		if by, ok := v.steps()[name]; ok {
			v.move(by)
		}
	}
	return false, false, true
}

// steps returns how far keys move the cursor.
func (v *View) steps() map[string]int {
	n, page := len(v.Model.Shown()), max(1, v.height-1)
	return map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "pgdn": page, "ctrl-u": -page, "ctrl-d": page,
		"home": -n, "g": -n, "end": n, "G": n,
	}
}

func (v *View) sort(k Key) {
	m := v.Model
	m.Sort, m.Reverse = k, m.Sort == k && !m.Reverse
	v.cursor, v.first, v.held = 0, 0, ""
	v.Arrange()
}

func (v *View) setFilter(text string) {
	if v.Model.Filter != text {
		v.Model.Filter = text
		v.cursor, v.first, v.held = 0, 0, ""
		v.Arrange()
	}
}

// edit changes the filter while it is typed.
func (v *View) edit(name string) {
	switch filter := v.Model.Filter; name {
	case "enter":
		v.editing = false
	case "esc":
		v.editing = false
		v.setFilter("")
	case "backspace":
		if r := []rune(filter); len(r) > 0 {
			v.setFilter(string(r[:len(r)-1]))
		}
	case "ctrl-u":
		v.setFilter("")
	default:
		if len([]rune(name)) == 1 && len(filter) < 200 {
			v.setFilter(filter + name)
		}
	}
}

// grouped prints a number with commas between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Percent prints a change.
func Percent(change float64) string {
	if math.IsNaN(change) {
		return "-"
	}
	text := strconv.FormatFloat(change, 'f', 1, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0%"
	}
	if change > 0 {
		text = "+" + text
	}
	return text + "%"
}

// Age prints how long ago a time in microseconds was.
func Age(us int64, now time.Time) string {
	if us == 0 {
		return "-"
	}
	words := strings.Fields(quantity.Duration(float64(max(0, now.Unix()-us/1_000_000))))
	return words[0] + " " + words[1]
}
