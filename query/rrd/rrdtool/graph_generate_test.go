package rrdtool_test

import (
	"fmt"
	"strconv"
	"strings"
)

// A graphGenerator makes graph commands that are mostly right.
type graphGenerator struct {
	xportGenerator
	reached map[string]int // options and elements
	log     bool
	data    bool // a data format
}

func (g *graphGenerator) reach(what string) string {
	g.reached[what]++
	return what
}

// graph is a command, whose picture goes to a file.
func (g *graphGenerator) graph() []string {
	g.vars, g.numbers, g.margin = nil, nil, 0
	g.to = g.begin + g.r.Int64N(g.end-g.begin+200)
	g.start = g.to - 20 - g.r.Int64N([]int64{100, 1000, 10000, 100000, 10000000}[g.r.IntN(5)])
	args := []string{g.pick("graph", "graphv", "graphv", "graphv"), "o.png", g.pick("-s", "--start"), fmt.Sprint(g.start), g.pick("-e", "--end"), fmt.Sprint(g.to)}
	g.log, g.data = false, false
	for range g.r.IntN(8) {
		args = append(args, g.option()...)
	}
	if g.one(30) {
		args = append(args, g.wrongOption()...)
	}
	if g.one(4) {
		g.margin = 2000
	}
	return append(args, g.graphLines()...)
}

// option is an option and its argument.
func (g *graphGenerator) option() []string {
	number := func(s ...string) string { return g.pick(s...) }
	all := [][]string{
		{"--width", strconv.Itoa(10 + g.r.IntN(600))},
		{"-w", strconv.Itoa(100 + g.r.IntN(400))},
		{"--height", strconv.Itoa(10 + g.r.IntN(300))},
		{"-h", strconv.Itoa(50 + g.r.IntN(200))},
		{"--upper-limit", number("100", "5", "0", "-3", "1e6", "1e-5", "750", "1e")},
		{"--lower-limit", number("0", "-10", "3", "1e-3", "-1e7", "20")},
		{"-u", number("10", "1000", "2e9")},
		{"-l", number("0", "0", "1", "-5")},
		{"--rigid"},
		{"--allow-shrink"},
		{"--alt-autoscale"},
		{"--alt-autoscale-min"},
		{"--alt-autoscale-max"},
		{"--alt-y-grid"},
		{"--logarithmic"},
		{"--base", g.pick("1000", "1024")},
		{"--units-exponent", g.pick("0", "3", "-3", "6", "1", "x", "-7", "30")},
		{"--units-length", g.pick("2", "6", "10", "0", "x", "-2")},
		{"--units=si"},
		{"--step", g.pick("1", "60", "300", "17", "x")},
		{"--x-grid", g.pick("none", "MINUTE:10:HOUR:1:HOUR:4:0:%X", "HOUR:8:DAY:1:DAY:1:86400:%a %d", "SECOND:30:MINUTE:5:MINUTE:10:0:%H:%M", "WEEK:1:MONTH:1:MONTH:1:2592000:%b")},
		{"--y-grid", g.pick("none", "1:2", "10:1", "0.5:5", "100:1", "2.5e3:4", ".1:1")},
		{"--right-axis", g.pick("1:0", "0.001:5", "-2:10", "1e3:0")},
		{"--right-axis-label", g.pick("right", "")},
		{"--right-axis-format", g.pick("%.2lf", "%6.1le", "%lg%%")},
		{"--left-axis-format", g.pick("%.2lf", "%6.1le", "a%5.0lfb")},
		{"--left-axis-formatter", g.pick("timestamp", "duration", "numeric")},
		{"--right-axis-formatter", g.pick("timestamp", "duration", "numeric")},
		{"--title", g.pick("a title", "two\\nlines", "a<br>b<br/>c", "a\nb\nc\nd", "")},
		{"--vertical-label", g.pick("bits per second", "ü", "")},
		{"--watermark", g.pick("made today", "")},
		{"--disable-rrdtool-tag"},
		{"--no-legend"},
		{"--force-rules-legend"},
		{"--only-graph"},
		{"--full-size-mode"},
		{"--legend-position", g.pick("north", "south", "east", "west")},
		{"--legend-direction", g.pick("topdown", "bottomup", "bottomup2")},
		{"--dynamic-labels"},
		{"--font", g.pick("DEFAULT:8", "DEFAULT:10:", "LEGEND:12", "TITLE:14:", "AXIS:6", "UNIT:9", "WATERMARK:8", "LEGEND:7", "AXIS:10", "DEFAULT:0:", "LEGEND:6.5")},
		{"--color", g.pick("BACK#ffffff", "CANVAS#000", "SHADEA#12345678", "GRID#eee8", "MGRID#ff0000", "FONT#00f", "FRAME#abcdef", "ARROW#fff", "AXIS#000", "SHADEB#fff")},
		{"--border", g.pick("0", "1", "5", "x")},
		{"--grid-dash", g.pick("1:1", "0:0", "3:2")},
		{"--no-minor"},
		{"--slope-mode"},
		{"--no-gridfit"},
		{"--tabwidth", g.pick("40", "20", "55.5")},
		{"--interlaced"},
		{"--alt-y-mrtg"},
		{"--use-nan-for-all-missing-data"},
		{"--week-fmt", "W%V"},
		{"--pango-markup"},
		{"--font-render-mode", g.pick("normal", "light", "mono")},
		{"--graph-render-mode", g.pick("normal", "mono")},
		{"--font-smoothing-threshold", "3"},
		{"--graph-type", "TIME"},
		{"--imginfo", g.pick("%s %lu %lu", "<%s %% %lux%lu>")},
		{"--imginfo=%s-%lu-%lu"},
		{"--zoom", g.pick("2", "1.5", "0.5", "3", "1e")},
		{"--imgformat", g.pick("SVG", "PDF", "EPS")},
	}
	o := all[g.r.IntN(len(all))]
	if g.one(12) {
		o = []string{"--imgformat", g.pick("XML", "XMLENUM", "JSON", "JSONTIME", "CSV", "TSV", "SSV")}
		g.data = true
	}
	g.reach(strings.Split(o[0], "=")[0])
	g.log = g.log || o[0] == "--logarithmic"
	return o
}

func (g *graphGenerator) wrongOption() []string {
	g.reach("a wrong option")
	return strings.Fields(g.pick("--width 5", "--height x", "--foo", "-q", "--upper-limit x", "-l 5x", "--base 999", "--color BACK", "--color FOO#fff", "--color BACK#12345", "--font FOO:8", "--font DEFAULT",
		"--imgformat png", "--imginfo %s", "--units foo", "--units=si --units=si", "--zoom 0", "--zoom x", "--right-axis 0:1", "--right-axis 1", "--right-axis-format %s", "--left-axis-format %d",
		"--left-axis-formatter x", "--legend-position up", "--legend-direction up", "--grid-dash 1", "--x-grid foo", "--x-grid FOO:1:HOUR:1:HOUR:1:0:%H", "--y-grid 1", "--y-grid 0:1", "--y-grid 1:0", "--y-grid 1..2:1",
		"--tabwidth x", "--font-render-mode x", "--graph-render-mode x", "--graph-type XY", "--graph-type foo", "--start foo", "--end foo", "--start end --end start", "-s 1200000000 -e 1100000000", "-o -l 0", "--lazy=1", "--title"))
}

func (g *graphGenerator) color() string {
	return g.pick("#ff0000", "#0f0", "#0000ff80", "#abc8", "")
}

func (g *graphGenerator) legend() string {
	if g.one(3) {
		return g.pick("", ":")
	}
	text := g.pick("legend", "a b", "in", "a longer legend of several words", "x", `with\:colon`, `tab\tbed`, "ü", "k=v")
	if g.data {
		return ":" + g.pick(text, text, `q"uote`, `back\\slash`)
	}
	return ":" + g.pick(text, text, text, text+"\nbelow", "a\r\n"+text) + g.marker()
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
	lines := g.lines()
	lines = lines[:0]
	g.vars, g.numbers = nil, nil
	for _, line := range g.lines() {
		if strings.HasPrefix(line, "XPORT") || strings.Contains(line, "ABS") { // what is unknown loses its sign
			continue
		}
		lines = append(lines, line)
	}
	for range 1 + g.r.IntN(7) {
		lines = append(lines, g.element())
	}
	if g.one(25) {
		g.reach("a wrong line")
		lines = append(lines, g.pick("LINE:nosuch", "LINEx:1", "AREA", "TICK:"+g.vars[0]+"#fff", "PRINT:x", "COMMENT:bad\\x", "GPRINT:"+g.vars[0]+":MAX:%d", "VRULE:"+g.vars[0]+"#fff", "STACK:"+g.vars[0], "HRULE:5#ff0000:a:STACK", "FOO:1"))
	}
	return lines
}

func (g *graphGenerator) element() string {
	v := func() string { return g.vars[g.r.IntN(len(g.vars))] }
	any := func() string {
		if len(g.numbers) > 0 && g.one(6) && !g.data {
			return g.numbers[g.r.IntN(len(g.numbers))]
		}
		if g.one(8) && !g.data {
			return g.pick("5", "100", "-3", "1e4")
		}
		return v()
	}
	style := func() string { return g.pick("", "", "", ":dashes", ":dashes=5,2,1,2", ":dashes=3:dash-offset=2") }
	switch g.r.IntN(12) {
	case 0, 1, 2:
		g.reach("LINE")
		return "LINE" + g.pick("", "1", "2", "0.5", "3") + ":" + any() + g.color() + g.legend() + g.pick("", "", ":STACK", ":skipscale") + style()
	case 3, 4:
		g.reach("AREA")
		if g.one(4) {
			return "AREA:" + any() + "#ff0000#00ff00" + g.legend() + g.pick("", ":gradheight=0", ":gradheight=-20", ":gradheight=30")
		}
		return "AREA:" + any() + g.color() + g.legend() + g.pick("", "", ":STACK", ":skipscale")
	case 5:
		g.reach("TICK")
		return "TICK:" + v() + g.pick("#ff0000", "#0f08") + ":" + g.pick("1", "0.3", "-0.2") + g.legend()
	case 6:
		g.reach("HRULE")
		return "HRULE:" + g.pick("5", "100", "-5", "1e6", "0") + "#00ff00" + g.legend() + style()
	case 7:
		g.reach("VRULE")
		return "VRULE:" + fmt.Sprint(g.start+g.r.Int64N(2*(g.to-g.start))) + "#00ffff" + g.legend() + style()
	case 8:
		g.reach("COMMENT")
		return "COMMENT:" + strings.TrimPrefix(g.legend(), ":")
	case 9:
		g.reach("TEXTALIGN")
		return "TEXTALIGN:" + g.pick("left", "right", "center", "justified")
	}
	verb := g.reach(g.pick("PRINT", "GPRINT"))
	marker := ""
	if verb == "GPRINT" && !g.data {
		marker = g.marker()
	}
	format := "%" + g.pick("", "6", "-8", "+", "08", " ") + g.pick("", ".2", ".0", ".5") + g.pick("lf", "lf", "le", "lg", "lG") + g.pick("", "%s", " %S", "%%", " %s")
	switch {
	case g.one(4) && len(g.numbers) > 0 && !g.data: // of an unknown time, data have what was printed last
		format = ":" + g.pick(`%H\:%M %d.%m.%Y`, "%c", "%a %e") + marker + ":strftime"
		return verb + ":" + g.numbers[g.r.IntN(len(g.numbers))] + format
	case g.one(5) && !g.data:
		return verb + ":" + v() + ":LAST:" + g.pick("%Y-%m-%d"+marker+":valstrftime", `%H\:%02m\:%02s`+marker+":valstrfduration", ":valstrftime")
	case len(g.numbers) > 0 && g.one(2):
		return verb + ":" + g.numbers[g.r.IntN(len(g.numbers))] + ":x" + format + marker
	}
	return verb + ":" + v() + ":" + g.pick("AVERAGE", "MIN", "MAX", "LAST") + ":y " + format + marker
}
