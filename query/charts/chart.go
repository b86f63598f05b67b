package charts

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A Series is a series that charts are made of.
type Series struct {
	Path    string
	Sources []Source
	CFs     []string // the consolidation functions of its archives
	Unit    string   // as its sender says; may be empty
	Title   string   // likewise
	Group   string   // likewise
}

// A Source is a data source of a series.
type Source struct {
	Name string
	Rate bool // its values are changes a second
}

// A Chart is several data sources that are looked at together.
type Chart struct {
	ID    string // the same as long as the series are
	Title string
	Group string // the heading under which it stands
	Unit  string
	Base  int // 1000, or 1024 for bytes of memory
	// Limits of the values shown; NaN where the values decide.
	Lower, Upper float64
	Stack        bool
	Percent      bool // values are shown as shares of their sum
	Lines        []Line
}

// A Line is a data source in a chart. Its value is the stored value times Factor plus Offset.
type Line struct {
	Path, DS, Label string
	Factor, Offset  float64
	Style           string // line, area or band
	Color           string // #rrggbb
	// The consolidation functions to fetch; MaxCF and MinCF are empty if the series lacks them.
	CF, MaxCF, MinCF string
	// Restart says that the line begins a stack of its own.
	Restart bool

	order int // its place in the recipe
}

// The most lines of a chart. A chart with more becomes several.
const (
	maxLines   = 12
	maxStacked = 16
)

// Assemble returns the charts of series below prefix. The order of the series does not matter.
func Assemble(prefix string, series []Series) []Chart {
	prefix = strings.Trim(prefix, "/")
	series = slices.Clone(series)
	slices.SortFunc(series, func(a, b Series) int { return strings.Compare(a.Path, b.Path) })
	b := builder{prefix: prefix, drafts: make(map[string]*draft)}
	for i := range series {
		if len(series[i].Sources) > 0 && len(series[i].CFs) > 0 {
			b.add(&series[i])
		}
	}
	b.coresInOne()
	var out []Chart
	for _, d := range b.sorted() {
		out = append(out, d.charts()...)
	}
	return out
}

// A draft is a chart that gets its lines.
type draft struct {
	Chart
	base  string // the folder of what it is about, such as a host
	rank  int    // of its group
	place int    // among the charts of its group
	about string // what its title begins with: the part of base that is below the prefix
	// byUnit says that the title tells only the unit; a line that stands alone gives a better one.
	byUnit bool
}

// A builder collects drafts by their IDs.
type builder struct {
	prefix string
	drafts map[string]*draft
}

// add adds the data sources of a series to the charts that they belong to.
func (b *builder) add(s *Series) {
	for i := range recipes {
		r := &recipes[i]
		captures, base, ok := r.match(s.Path)
		if !ok || !r.sentBy(s) {
			continue
		}
		if b.cook(r, s, captures, base) {
			return
		}
	}
	b.plain(s)
}

// draft returns the draft of an ID, and makes it if it is new.
func (b *builder) draft(id string, make func() *draft) *draft {
	d := b.drafts[id]
	if d == nil {
		d = make()
		d.ID = id
		if rest := below(d.base, b.prefix); rest != "" {
			d.about = rest + ": "
		}
		b.drafts[id] = d
	}
	return d
}

// below returns what a path has behind a prefix, or "" if it is not below it.
func below(path, prefix string) string {
	if prefix == "" {
		return path
	}
	rest, ok := strings.CutPrefix(path, prefix+"/")
	if !ok {
		return ""
	}
	return rest
}

// sorted returns the drafts in the order in which they are shown.
func (b *builder) sorted() []*draft {
	out := make([]*draft, 0, len(b.drafts))
	for _, d := range b.drafts {
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y *draft) int {
		return cmp.Or(natural(x.base, y.base), cmp.Compare(x.rank, y.rank), natural(x.Group, y.Group), cmp.Compare(x.place, y.place),
			natural(x.Title, y.Title), strings.Compare(x.ID, y.ID))
	})
	return out
}

// charts returns the draft as charts that are not too full.
func (d *draft) charts() []Chart {
	slices.SortStableFunc(d.Lines, func(x, y Line) int { return cmp.Or(cmp.Compare(x.order, y.order), natural(x.Label, y.Label)) })
	if d.byUnit && len(d.Lines) == 1 {
		d.Title = words(d.Lines[0].Label)
	}
	d.Title = d.about + d.Title
	most := maxLines
	if d.Stack {
		most = maxStacked
	}
	pages := (len(d.Lines) + most - 1) / most
	var out []Chart
	for i := range pages {
		c := d.Chart
		n := (len(d.Lines) + pages - 1) / pages
		c.Lines = slices.Clone(d.Lines[min(i*n, len(d.Lines)):min((i+1)*n, len(d.Lines))])
		if pages > 1 {
			c.ID += "#" + digits(i+1)
			c.Title += " (" + digits(i+1) + " of " + digits(pages) + ")"
		}
		c.finish()
		out = append(out, c)
	}
	return out
}

// finish gives colours to the lines that have none, and a band to a line that stands alone.
func (c *Chart) finish() {
	used := 0
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Color == "" {
			l.Color = palette[used%len(palette)]
			used++
		}
		if len(c.Lines) == 1 && !c.Stack && l.Style == styleLine && l.MaxCF != "" && l.MinCF != "" {
			l.Style = styleBand
		}
	}
}

// The styles of a line.
const (
	styleLine = "line"
	styleArea = "area"
	styleBand = "band"
)

// line returns the line of a data source with a label.
func (s *Series) line(ds, label string) Line {
	l := Line{Path: s.Path, DS: ds, Label: label, Factor: 1, Style: styleLine, CF: s.CFs[0]}
	if slices.Contains(s.CFs, "AVERAGE") {
		l.CF = "AVERAGE"
	}
	if slices.Contains(s.CFs, "MAX") {
		l.MaxCF = "MAX"
	}
	if slices.Contains(s.CFs, "MIN") {
		l.MinCF = "MIN"
	}
	return l
}

// none is a limit that is not given.
var none = math.NaN()

func digits(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + string(rune('0'+n%10))
}

// natural compares texts as people sort them: numbers in them by their value.
func natural(a, b string) int {
	for a != "" && b != "" {
		m, n := leading(a), leading(b)
		if m > 0 && n > 0 {
			x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), cmp.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// leading returns how many digits a text begins with.
func leading(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
