package rrdtool_test

import (
	"fmt"
	"regexp"
	"strings"
)

// A graphGenerator makes graph commands that are mostly right.
type graphGenerator struct {
	xportGenerator
	reached map[string]int // options and elements
	data    bool           // a data format
	markup  bool
	lazy    bool
	drawn   bool // there is a LINE or an AREA
}

func (g *graphGenerator) reach(what string) string {
	g.reached[what]++
	return what
}

// span chooses what time is shown.
func (g *graphGenerator) span() {
	g.to = g.begin + g.r.Int64N(g.end-g.begin+200)
	g.start = g.to - 20 - g.r.Int64N([]int64{100, 1000, 10000, 100000, 10000000, 300000000}[g.r.IntN(6)])
}

// graph is a command, whose picture goes to a file.
func (g *graphGenerator) graph() []string {
	g.vars, g.numbers, g.margin = nil, nil, 0
	g.span()
	args := []string{g.pick("graph", "graphv", "graphv", "graphv"), "o.png", g.pick("-s", "--start"), fmt.Sprint(g.start), g.pick("-e", "--end"), fmt.Sprint(g.to)}
	g.data, g.markup, g.lazy, g.drawn = false, false, false, false
	for range g.r.IntN(8) {
		args = append(args, g.option()...)
	}
	if g.one(30) {
		args = append(args, g.wrongOption()...)
	}
	if g.one(4) {
		g.margin = 2000
	}
	lines := g.graphLines()
	if g.one(10) { // options may stand anywhere
		g.reach("options behind lines")
		return append(append(args[:2:2], lines...), args[2:]...)
	}
	return append(args, lines...)
}

func (g *graphGenerator) color() string {
	return g.pick("#ff0000", "#0f0", "#0000ff80", "#abc8", "")
}

func (g *graphGenerator) legend() string {
	if g.one(3) {
		return g.pick("", ":")
	}
	text := g.pick("legend", "a b", "&<>", "in", "a longer legend of several words", "x", `with\:colon`, `tab\tbed`, `\ttab\t\tb`, "ü", "k=v", "  blanks  ", `a\\bc`)
	switch {
	case g.markup && text[0] == '&': // rrdtool draws nothing of wrong markup
		return ":and"
	case g.data:
		return ":" + g.pick(text, text, `q"uote`, `back\\slash`)
	case g.markup && g.one(2):
		g.reach("markup in a legend")
		text = g.markedUp()
	}
	return ":" + g.pick(text, text, text, text+"\nbelow", "a\r\n"+text, text+"\n\nbelow") + g.marker()
}

// markedUp is a text with markup.
func (g *graphGenerator) markedUp() string {
	return g.pick("<b>bold</b> text", "<i>slanted</i>", "a<u>b</u>c", "<s>no</s>", "<span foreground='red'>red</span>", "<b>both <i>of</i></b> it", "1 &lt; 2 &amp; 3", "<span weight='bold' style='italic'>x</span> y", "&quot;q&quot;")
}

func (g *graphGenerator) marker() string {
	if g.one(2) {
		return ""
	}
	m := g.pick(`\l`, `\n`, `\r`, `\j`, `\c`, `\g`, `\s`, `\u`, `\.`, `  \g`, `\`)
	g.reach("marker " + strings.TrimSpace(m))
	return m
}

// graphLines are the lines of a graph.
func (g *graphGenerator) graphLines() []string {
	var lines []string
	for _, line := range g.lines() {
		if strings.HasPrefix(line, "XPORT") && (g.data || g.markup || !g.one(4)) { // a legend may be wrong markup
			continue
		}
		line = strings.ReplaceAll(line, ",ABS", "") // what is unknown loses its sign
		g.reach(line[:strings.IndexByte(line, ':')])
		for _, key := range []string{":step=", ":start=", ":reduce="} {
			if strings.Contains(line, key) {
				g.reach("DEF…" + key[:len(key)-1])
			}
		}
		lines = append(lines, line)
	}
	for range 1 + g.r.IntN(7) {
		lines = append(lines, g.element())
	}
	if g.one(25) {
		g.reach("a wrong line")
		lines = append(lines, g.pick(g.wrong(), g.wrong(), "LINE:nosuch", "LINEx:1", "LINE-1:1", "AREA", "TICK:"+g.vars[0]+"#fff", "TICK:"+g.vars[0]+"#fff:x", "PRINT:x", "PRINT:"+g.vars[0], "PRINT:"+g.vars[0]+":FOO:%lf",
			"COMMENT:bad\\x", "COMMENT", "GPRINT:"+g.vars[0]+":MAX:%d", "VRULE:"+g.vars[0]+"#fff", "STACK:"+g.vars[0], "HRULE:5#ff0000:a:STACK", "FOO:1", "LINE:1#fff:a:dashes=x", "LINE:1#fff:a:dashes=1;2",
			"LINE:1#fff:a:dash-offset=x", "LINE:1#fff:a:gradheight=3", "AREA:1#fff:a:gradheight=x", "AREA:1#fff:a:dashes", "AREA:"+g.vars[0]+"#gg0000:a", "STACK:"+g.vars[0]+"#gg0000:a", "TEXTALIGN:top", "TEXTALIGN", "SHIFT:nosuch:5", "LINE:1#fff:a:b:c",
			"PRINT:"+g.vars[0]+":MAX:%lf:strftime=x:foo", "PRINT:"+g.vars[0]+":MAX:%lf:vformatter=foo", "PRINT:"+g.vars[0]+":MAX:%q:valstrfduration", "VRULE:x#fff", "HRULE"))
	}
	return lines
}

// value is what a line draws: mostly a column, sometimes a number.
func (g *graphGenerator) value() string {
	if len(g.numbers) > 0 && g.one(6) && !g.data {
		return g.numbers[g.r.IntN(len(g.numbers))]
	}
	if g.one(8) && !g.data {
		return g.pick("5", "100", "-3", "1e4", "INF", "-inf", "0")
	}
	return g.column()
}

func (g *graphGenerator) column() string { return g.vars[g.r.IntN(len(g.vars))] }

// stacking is how a LINE or an AREA says that it stands on what is before it.
func (g *graphGenerator) stacking() string {
	return g.pick("", "", ":STACK", ":stack=1", ":skipscale", ":STACK:skipscale", ":skipscale=1")
}

func (g *graphGenerator) dashes() string {
	d := g.pick("", "", "", ":dashes", ":dashes=5,2,1,2", ":dashes=3:dash-offset=2", ":dashes=2,2.5,3")
	if d != "" {
		g.reach("dashes")
	}
	return d
}

func (g *graphGenerator) element() string {
	switch g.r.IntN(13) {
	case 0, 1, 2:
		g.reach("LINE")
		g.drawn = true
		return "LINE" + g.pick("", "1", "2", "0.5", "3", "0") + ":" + g.value() + g.color() + g.legend() + g.stacking() + g.dashes()
	case 3, 4:
		g.reach("AREA")
		g.drawn = true
		if g.one(4) {
			g.reach("a gradient")
			return "AREA:" + g.value() + "#ff0000#00ff00" + g.legend() + g.pick("", ":gradheight=0", ":gradheight=-20", ":gradheight=30") + g.stacking()
		}
		return "AREA:" + g.value() + g.color() + g.legend() + g.stacking()
	case 5:
		g.reach("TICK")
		return "TICK:" + g.column() + g.pick("#ff0000", "#0f08") + ":" + g.pick("1", "0.3", "-0.2", "0") + g.legend()
	case 6:
		g.reach("HRULE")
		return "HRULE:" + g.rule("5", "100", "-5", "1e6", "0") + "#00ff00" + g.legend() + g.dashes()
	case 7:
		g.reach("VRULE")
		return "VRULE:" + g.rule(fmt.Sprint(g.start+g.r.Int64N(2*(g.to-g.start)))) + "#00ffff" + g.legend() + g.dashes()
	case 8:
		g.reach("COMMENT")
		return "COMMENT:" + strings.TrimPrefix(g.legend(), ":")
	case 9:
		g.reach("TEXTALIGN")
		return "TEXTALIGN:" + g.pick("left", "right", "center", "justified")
	case 10:
		if g.drawn {
			return g.reach("STACK") + ":" + g.column() + g.color() + g.legend()
		}
	}
	return g.print()
}

// rule is where a rule stands: a number, or a VDEF.
func (g *graphGenerator) rule(numbers ...string) string {
	if len(g.numbers) > 0 && g.one(3) {
		g.reach("a rule at a VDEF")
		return g.numbers[g.r.IntN(len(g.numbers))]
	}
	return g.pick(numbers...)
}

// print is a line that prints.
func (g *graphGenerator) print() string {
	verb := g.reach(g.pick("PRINT", "GPRINT"))
	marker := ""
	if verb == "GPRINT" && !g.data {
		marker = g.marker()
	}
	format := "%" + g.pick("", "6", "-8", "+", "08", " ", "#", "20") + g.pick("", ".2", ".0", ".5", ".12") + g.pick("lf", "lf", "le", "lg", "lG", "lE") + g.pick("", "%s", " %S", "%%", " %s", "%S per cent %%")
	switch {
	case g.one(4) && len(g.numbers) > 0 && !g.data: // of an unknown time, data have what was printed last
		g.reach("strftime")
		return verb + ":" + g.numbers[g.r.IntN(len(g.numbers))] + ":" + g.timeFormat() + marker + ":strftime"
	case g.one(5) && !g.data:
		g.reach("valstrftime, valstrfduration")
		return verb + ":" + g.column() + ":LAST:" + g.pick(epoch.ReplaceAllString(g.timeFormat(), "${1}S")+marker+":valstrftime", `%H\:%02m\:%02s`+marker+":valstrfduration", ":valstrftime", "%D days %h %.3S %f %W %d %M"+marker+":valstrfduration", ":valstrfduration")
	case len(g.numbers) > 0 && g.one(2):
		g.reach("prints a VDEF")
		return verb + ":" + g.numbers[g.r.IntN(len(g.numbers))] + ":x" + format + marker
	}
	return verb + ":" + g.column() + ":" + g.pick("AVERAGE", "MIN", "MAX", "LAST") + ":y " + format + marker
}

// timeFormat is one of strftime.
// epoch is strftime's conversion into seconds since 1970. docs/graph.md says how rrdtool's differs for
// a value that is a time.
var epoch = regexp.MustCompile(`(%[-_0^#]*[0-9]*[EO]?)s`)

func (g *graphGenerator) timeFormat() string {
	if g.one(2) {
		return g.pick(`%H\:%M %d.%m.%Y`, "%c", "%a %e")
	}
	m := markGenerator{g.xportGenerator}
	return m.timeFormat()
}
