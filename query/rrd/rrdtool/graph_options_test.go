package rrdtool_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/graph"
)

// option is an option and its argument, in one of the spellings of it.
func (g *graphGenerator) option() []string {
	o := g.anyOption()
	if g.one(10) {
		o = []string{"--imgformat", g.pick("XML", "XMLENUM", "JSON", "JSONTIME", "CSV", "TSV", "SSV")}
		g.data = true
	}
	name, arg, _ := strings.Cut(strings.TrimPrefix(o[0], "--"), "=")
	g.reach("--" + name)
	switch name {
	case "imgformat":
		g.reach("--imgformat " + o[1])
	case "pango-markup":
		g.markup = true
	case "lazy":
		g.lazy = true
	}
	i := slices.IndexFunc(graph.Flags, func(f graph.Flag) bool { return f.Long == name })
	short := graph.Flags[i].Short
	switch {
	case len(o) > 1:
		arg = o[1]
	case arg != "": // rrdtool distinguishes --imginfo and --imginfo=
		return o
	case short != 0 && g.one(2):
		return []string{"-" + string(short)}
	default:
		return o
	}
	switch {
	case name == "imginfo":
		return o
	case short != 0 && g.one(3) && arg != "":
		return []string{"-" + string(short) + arg}
	case short != 0 && g.one(2):
		return []string{"-" + string(short), arg}
	case g.one(2):
		return []string{"--" + name + "=" + arg}
	}
	return o
}

func (g *graphGenerator) anyOption() []string {
	switch g.r.IntN(4) {
	case 0:
		return g.sizeOption()
	case 1:
		return g.limitOption()
	case 2:
		return g.gridOption()
	}
	return g.textOption()
}

func (g *graphGenerator) oneOf(options [][]string) []string {
	return options[g.r.IntN(len(options))]
}

// sizeOption is one of sizes and formats.
func (g *graphGenerator) sizeOption() []string {
	return g.oneOf([][]string{
		{"--width", strconv.Itoa(10 + g.r.IntN(600))},
		{"--height", strconv.Itoa(10 + g.r.IntN(300))},
		{"--full-size-mode"},
		{"--only-graph"},
		{"--zoom", g.pick("2", "1.5", "0.5", "3", "1e", "1.07", "0.7")},
		{"--step", g.pick("1", "60", "300", "17", "x")},
		{"--border", g.pick("0", "1", "5", "x")},
		{"--slope-mode"},
		{"--no-gridfit"},
		{"--interlaced"},
		{"--lazy"},
		{"--use-nan-for-all-missing-data"},
		{"--graph-render-mode", g.pick("normal", "mono")},
		{"--graph-type", "TIME"},
		{"--imginfo", g.pick("%s %lu %lu", "<%s %% %lux%lu>")},
		{"--imginfo=%s-%lu-%lu"},
		{"--imgformat", g.pick("PNG", "SVG", "PDF", "EPS")},
		{"--color", g.pick("BACK#ffffff", "CANVAS#000", "SHADEA#12345678", "GRID#eee8", "MGRID#ff0000", "FONT#00f", "FRAME#abcdef", "ARROW#fff", "AXIS#000", "SHADEB#fff")},
	})
}

// limitOption is one of the value range.
func (g *graphGenerator) limitOption() []string {
	number := func(wrong ...string) string {
		return g.pick(append(wrong, "0", fmt.Sprintf("%.4g", g.r.NormFloat64()*1000), fmt.Sprintf("%d", g.r.IntN(20)-10), fmt.Sprintf("%.3e", g.r.ExpFloat64()*1e9))...)
	}
	return g.oneOf([][]string{
		{"--upper-limit", number("100", "5", "1e-5", "750", "1e")},
		{"--lower-limit", number("-10", "1e-3", "-1e7", "20")},
		{"--upper-limit", g.pick("10", "1000", "2e9")},
		{"--lower-limit", g.pick("0", "0", "1", "-5")},
		{"--rigid"},
		{"--rigid"},
		{"--allow-shrink"},
		{"--alt-autoscale"},
		{"--alt-autoscale-min"},
		{"--alt-autoscale-max"},
		{"--alt-y-grid"},
		{"--alt-y-mrtg"},
		{"--logarithmic"},
		{"--logarithmic"},
		{"--base", g.pick("1000", "1024", "1024")},
		{"--units-exponent", g.pick("0", "3", "-3", "6", "1", "x", "-7", "30", "-30")},
		{"--units-length", g.pick("2", "6", "10", "0", "x", "-2")},
		{"--units=si"},
	})
}

// gridOption is one of the grids and the axes.
func (g *graphGenerator) gridOption() []string {
	return g.oneOf([][]string{
		{"--x-grid", g.pick("none", "MINUTE:10:HOUR:1:HOUR:4:0:%X", "HOUR:8:DAY:1:DAY:1:86400:%a %d", "SECOND:30:MINUTE:5:MINUTE:10:0:%H:%M", "WEEK:1:MONTH:1:MONTH:1:2592000:%b")},
		{"--x-grid", g.xGrid()},
		{"--y-grid", g.pick("none", "none", "1:2", "10:1", "100:1", "2.5e3:4", "1e8:2", "25:4", "1e9:5", g.pick(".1:1", "0.5:5", "1e6:1"))},
		{"--right-axis", g.pick("1:0", "0.001:5", "-2:10", "1e3:0", fmt.Sprintf("%.3g:%.3g", 0.01+g.r.ExpFloat64()*10, g.r.NormFloat64()*100))},
		{"--right-axis-label", g.pick("right", "")},
		{"--right-axis-format", g.pick("%.2lf", "%6.1le", "%lg%%", "%H:%M", "%Hh %Mm")},
		{"--left-axis-format", g.pick("%.2lf", "%6.1le", "a%5.0lfb", "%Y", "%H:%02m", "%D days")},
		{"--left-axis-formatter", g.pick("timestamp", "duration", "numeric")},
		{"--right-axis-formatter", g.pick("timestamp", "duration", "numeric")},
		{"--grid-dash", g.pick("1:1", "0:0", "3:2", "0.5:7")},
		{"--no-minor"},
		{"--week-fmt", g.pick("W%V", "week %U of %Y")},
		{"--vertical-label", g.pick("bits per second", "ü", "")},
	})
}

// xGrid is a grid whose units are not too small for the time that is shown.
func (g *graphGenerator) xGrid() string {
	units := []struct {
		name    string
		seconds int64
	}{{"SECOND", 1}, {"MINUTE", 60}, {"HOUR", 3600}, {"DAY", 86400}, {"WEEK", 604800}, {"MONTH", 2592000}, {"YEAR", 31536000}}
	every := func() string {
		u := units[g.r.IntN(len(units))]
		count := 1 + g.r.Int64N(13)
		return fmt.Sprintf("%s:%d", u.name, max(count, (g.to-g.start)/(3000*u.seconds)))
	}
	g.reach("--x-grid of random units")
	return every() + ":" + every() + ":" + every() + ":" + g.pick("0", "3600", "86400", "-100", "1") + ":" + g.pick("%H:%M", "%x %X", "", "a%%b", "%Y-%m-%d\t%j")
}

// textOption is one of texts and of the legend.
func (g *graphGenerator) textOption() []string {
	return g.oneOf([][]string{
		{"--title", g.pick("a title", "two\\nlines", "a<br>b<br/>c", "a\nb\nc\nd", "", "<b>x</b> & y")},
		{"--watermark", g.pick("made today", "")},
		{"--disable-rrdtool-tag"},
		{"--no-legend"},
		{"--force-rules-legend"},
		{"--legend-position", g.pick("north", "south", "east", "west")},
		{"--legend-direction", g.pick("topdown", "bottomup", "bottomup2")},
		{"--dynamic-labels"},
		{"--font", g.pick("DEFAULT", "TITLE", "AXIS", "UNIT", "LEGEND", "WATERMARK", "LEGEND") + ":" + g.pick("8", "10", "12", "14", "6", "9", "7", "0", "6.5", "8.5", "20", "5.5", "13") + g.pick("", ":")},
		{"--tabwidth", g.pick("40", "20", "55.5", "7", "100")},
		{"--pango-markup"},
		{"--font-render-mode", g.pick("normal", "light", "mono")},
		{"--font-smoothing-threshold", "3"},
	})
}

func (g *graphGenerator) wrongOption() []string {
	g.reach("a wrong option")
	return strings.Fields(g.pick("--width 5", "--height x", "--foo", "-q", "--upper-limit x", "-l 5x", "--base 999", "--color BACK", "--color FOO#fff", "--color BACK#12345", "--font FOO:8", "--font DEFAULT",
		"--imgformat png", "--imginfo %s", "--units foo", "--units=si --units=si", "--zoom 0", "--zoom x", "--right-axis 0:1", "--right-axis 1", "--right-axis-format %s", "--left-axis-format %d",
		"--left-axis-formatter x", "--legend-position up", "--legend-direction up", "--grid-dash 1", "--x-grid foo", "--x-grid FOO:1:HOUR:1:HOUR:1:0:%H", "--y-grid 1", "--y-grid 0:1", "--y-grid 1:0", "--y-grid 1..2:1",
		"--tabwidth x", "--font-render-mode x", "--graph-render-mode x", "--graph-type XY", "--graph-type foo", "--start foo", "--end foo", "--start end --end start", "-s 1200000000 -e 1100000000", "-o -l 0", "--lazy=1", "--title"))
}
