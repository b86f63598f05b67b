package rrdtool_test

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"
)

// A pictureGenerator makes graphs whose elements differ in their colours.
type pictureGenerator struct {
	graphGenerator
	colors []pictureColor
	zoom   float64
	slope  bool
	soft   bool // without --no-gridfit lines are whole pixels
	above  int  // columns without what is below zero
}

// pictureColors are farther from each other, and from black and white, than seenLoosely.
var pictureColors = []string{"ff0000", "00c000", "0000ff", "c0a000", "00b0b0", "c000c0"}

func (g *pictureGenerator) picture() []string {
	g.vars, g.numbers, g.margin, g.colors, g.zoom = nil, nil, 0, nil, 1
	g.span()
	g.slope, g.soft = false, false
	args := []string{"graphv", "o.png", "-s", fmt.Sprint(g.start), "-e", fmt.Sprint(g.to), "-c", "GRID#00000000", "-c", "MGRID#00000000", "-c", "ARROW#00000000", "--disable-rrdtool-tag"}
	for range g.r.IntN(6) {
		args = append(args, g.pictureOption()...)
	}
	if g.one(4) {
		zoom := g.pick("2", "2", "3", "1.5", "1.25")
		g.reach("--zoom")
		g.zoom, _ = strconv.ParseFloat(zoom, 64)
		args = append(args, "--zoom", zoom)
	}
	args = append(args, g.data()...)
	if g.one(6) { // alone: it would hide where others end
		g.colors = []pictureColor{{color.NRGBA{G: 255, A: 255}, false, g.soft}}
		return append(args, "LINE:"+g.vars[0], "HRULE:"+g.pick("5", "100", "1e6")+"#00ff00:text")
	}
	if g.one(5) {
		return g.mirrored(args)
	}
	for i := range 1 + g.r.IntN(4) {
		args = append(args, g.pictureElement(pictureColors[i])...)
	}
	if g.soft { // what is below shines through half-covered pixels
		g.colors = g.colors[len(g.colors)-1:]
	}
	return args
}

func (g *pictureGenerator) pictureOption() []string {
	options := [][]string{
		{"-w", strconv.Itoa(60 + g.r.IntN(500))},
		{"-h", strconv.Itoa(30 + g.r.IntN(250))},
		{"-u", g.pick("100", "5", "0", "1e6")},
		{"-l", g.pick("0", "-10", "1e-3")},
		{"--rigid"},
		{"-A"},
		{"-J"},
		{"-M"},
		{"-Y"},
		{"-N"},
		{"-o"},
		{"-b", "1024"},
		{"-X", g.pick("0", "3", "-3", "6")},
		{"-L", g.pick("8", "10")},
		{"--units=si"},
		{"-y", g.pick("none", "10:1", "100:2", "1e6:5", "1e9:2", "2e10:5", "25:4")},
		{"-x", g.pick("none", strings.ReplaceAll(g.xGrid(), "\t", " "))},
		{"--right-axis", g.pick("1:0", "0.001:5", "-2:10")},
		{"--right-axis-format", "%6.1le"},
		{"--right-axis-label", "right"},
		{"--left-axis-format", "%6.1le"},
		{"--left-axis-formatter", g.pick("timestamp", "duration")},
		{"-t", "a title"},
		{"-v", "bits"},
		{"--legend-position", g.pick("north", "south", "east", "west")},
		{"-n", g.pick("DEFAULT:10", "AXIS:8", "LEGEND:10", "AXIS:6")},
		{"--border", "0"},
		{"-E"},
		{"-D", "-w", "400", "-h", "200"},
		{"-j"},
		{"-I"},
		{"-S", "60"},
	}
	o := options[g.r.IntN(len(options))]
	g.reach(o[0])
	g.slope, g.soft = g.slope || o[0] == "-E", g.soft || o[0] == "-N"
	return o
}

func (g *pictureGenerator) paint(hex string, dashed bool) {
	n, _ := strconv.ParseUint(hex, 16, 32)
	g.colors = append(g.colors, pictureColor{color.NRGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 255}, dashed, g.soft})
}

// pictureElement is an element of a colour, behind what it needs.
func (g *pictureGenerator) pictureElement(hex string) []string {
	v := g.column()
	dashes := ""
	if len(g.colors) == 0 { // a dash above another element would cover it at other places than rrdtool's
		dashes = g.pick("", ":dashes", ":dashes=8,4", ":dashes=10,5:dash-offset=3")
	}
	kind := g.r.IntN(8)
	if kind == 5 && (g.slope || g.soft) { // rrdtool draws steps, or half a column beside
		kind = 4
	}
	switch kind {
	case 0, 1, 2:
		g.reach("LINE")
		g.paint(hex, dashes != "")
		return []string{"LINE" + g.pick("1", "2", "3") + ":" + v + "#" + hex + g.pick("", ":text") + g.pick("", ":STACK") + dashes}
	case 3, 4:
		g.reach("AREA")
		g.paint(hex, false)
		return []string{"AREA:" + v + "#" + hex + g.pick("", ":text") + g.pick("", ":STACK")}
	case 5: // both colours are the same, so that the height can be seen
		g.reach("gradient")
		g.paint(hex, false)
		g.above++ // rrdtool's gradients begin where the first of a run does, above or below zero
		name := fmt.Sprint("above", g.above)
		return []string{"CDEF:" + name + "=" + v + ",0,MAX", "AREA:" + name + "#" + hex + "#" + hex + g.pick("", ":text") + g.pick("", ":gradheight=0", ":gradheight=-20", ":gradheight=30")} // stacked, rrdtool is a column off where the base changes
	case 6:
		g.reach("TICK")
		g.paint(hex, false)
		return []string{"TICK:" + v + "#" + hex + ":" + g.pick("0.2", "-0.3", "1")}
	}
	if g.one(2) {
		g.reach("HRULE")
		g.paint(hex, dashes != "")
		return []string{"HRULE:" + g.pick("5", "100", "1e6", "1e10") + "#" + hex + dashes}
	}
	g.reach("VRULE")
	g.paint(hex, dashes != "")
	return []string{"VRULE:" + fmt.Sprint(g.start+(g.to-g.start)/3) + "#" + hex + dashes}
}

// mirrored are two areas, the second below the zero line.
func (g *pictureGenerator) mirrored(args []string) []string {
	g.reach("mirrored")
	a, b := g.column(), g.column()
	for _, hex := range pictureColors[:3] {
		g.paint(hex, false)
	}
	return append(args, "CDEF:p="+a+",0,MAX", "CDEF:m=0,"+b+",0,MAX,-", "AREA:p#"+pictureColors[0]+":in", "AREA:m#"+pictureColors[1]+":out", g.pick("AREA", "LINE")+":m#"+pictureColors[2]+g.pick("", ":STACK"), "HRULE:0#000000")
}

// data are lines that define what is drawn.
func (g *pictureGenerator) data() []string {
	var lines []string
	for _, line := range g.lines() {
		if !strings.HasPrefix(line, "XPORT") {
			lines = append(lines, line)
		}
	}
	return lines
}
