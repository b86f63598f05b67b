package rrdtool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestXportMarksAsOriginal runs xport with lines that print and draw, right ones and wrong ones, at
// random.
func TestXportMarksAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	o := newOriginal(t)
	me := &rondo{store: newMemory(), now: time.Now(), loc: berlin(t)}
	g := &markGenerator{xportGenerator{r: r}}
	for _, args := range g.files() {
		if want, got := o.run(o.dir, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
			t.Fatal(want, got)
		}
	}
	failed, crashed, n := 0, 0, seedtest.Programs(30, 10)
	for i := range n {
		start := g.begin + g.r.Int64N(200)
		args := []string{"xport", "-s", fmt.Sprint(start), "-e", fmt.Sprint(start + 50 + g.r.Int64N(1000))}
		if g.one(3) {
			args = append(args, "--json")
		}
		args = append(args, "DEF:a=a.rrd:x:AVERAGE", "DEF:b=b.rrd:y:AVERAGE", "CDEF:c=a,"+g.pick("1e3", "1e-7", "0", "1e15", "-1", "INF", "1e-20", "2.5")+",*",
			"CDEF:u=a,"+g.pick("5,GT", "UN", "100,LT")+",a,UNKN,IF", "VDEF:v="+g.pick("a", "b", "c", "u")+","+g.pick("MAXIMUM", "MINIMUM", "LAST", "FIRST"),
			"VDEF:w="+g.pick("a", "b", "c", "u")+","+g.function(), "CDEF:z=a,UN,0,a,IF,3,*", "VDEF:t=z,"+g.pick("MAXIMUM", "MINIMUM", "LAST", "FIRST"), "XPORT:a:leg")
		for range 1 + g.r.IntN(5) {
			args = append(args, g.mark())
		}
		me.now = time.Now()
		want, got := o.run(o.dir, args), me.run(args)
		switch want.Exit {
		case -1:
			crashed++
			continue
		case 1:
			failed++
		}
		if d := cmp.Diff(comparable(want), comparable(got)); d != "" {
			t.Fatalf("program %d (-rrdtool +rondo):\nrrdtool %s\n%s", i, quoted(args), d)
		}
	}
	t.Logf("%d commands compared, of which %d failed alike; rrdtool crashed at %d", n, failed, crashed)
}

// TestStrftimeAsOriginal prints a time in formats put together at random, many in one command.
func TestStrftimeAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	o := newOriginal(t)
	me := &rondo{store: newMemory(), now: time.Now(), loc: berlin(t)}
	g := &markGenerator{xportGenerator{r: r}}
	for i := range seedtest.Programs(12, 10) {
		name := fmt.Sprintf("%d.rrd", i)
		at := 1 + g.r.Int64N(4_000_000_000)
		if g.one(2) {
			at = 86400*(365*10+g.r.Int64N(365*60)) + g.r.Int64N(3)*43200 - 3600
		}
		at = max(at, 86400*3655)
		for _, args := range [][]string{
			{"create", name, "--start", fmt.Sprint(at - 2), "--step", "1", "DS:x:GAUGE:2:U:U", "RRA:LAST:0:1:5"}, {"update", name, fmt.Sprintf("%d:1", at-1), fmt.Sprintf("%d:1", at)},
		} {
			if want, got := o.run(o.dir, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
				t.Fatal(args, want, got)
			}
		}
		args := []string{"xport", "-s", fmt.Sprint(at - 1), "-e", fmt.Sprint(at), "DEF:a=" + name + ":x:LAST", "VDEF:t=a,LAST", "XPORT:a"}
		for range 60 {
			args = append(args, "PRINT:t:"+g.timeFormat()+":strftime")
		}
		if d := cmp.Diff(o.run(o.dir, args), me.run(args)); d != "" {
			t.Fatalf("program %d (-rrdtool +rondo):\nrrdtool %s\n%s", i, quoted(args), d)
		}
	}
}

// A markGenerator makes lines that print and draw.
type markGenerator struct{ xportGenerator }

func (g *markGenerator) mark() string {
	switch g.r.IntN(9) {
	case 0, 1:
		return g.pick("PRINT", "GPRINT") + ":" + g.pick("v", "w") + ":" + g.format()
	case 2, 3:
		return g.pick("PRINT", "GPRINT") + ":" + g.pick("a", "b", "c", "u") + ":" + g.pick("AVERAGE", "MIN", "MAX", "LAST", "FAILURES", "HWPREDICT") + ":" + g.format()
	case 4:
		return g.pick("PRINT", "GPRINT") + ":t:" + g.timeFormat() + ":strftime"
	case 5:
		return g.pick("COMMENT:text", `COMMENT:a\: "b" \\ <c>\l`, "COMMENT:", "COMMENT:k=v", "TEXTALIGN:left", "TEXTALIGN:center", "TEXTALIGN:justified", "COMMENT:ü")
	case 6:
		return g.drawing()
	case 7:
		return g.drawing() + g.pick("", ":", ":x", ":STACK", ":dashes", ":skipscale", ":dash-offset=4", ":gradheight=2", ":dashes=1,x", ":k=v", ":legend=l", ":dashes=3,4", ":color=#ff0000", ":color=00ff00",
			":STACK=1", ":skipscale=1", ":fraction=1", ":linewidth=2", ":vname=a", ":gradheight=y", ":strftime", ":cf=MAX", ":::")
	}
	if g.one(3) {
		return g.pick("PRINT", "GPRINT", "COMMENT", "TEXTALIGN", "LINE", "LINE1", "LINE2.5", "AREA", "STACK", "TICK", "HRULE", "VRULE", "LINEx", "TICKS", "PRINTS") + g.words()
	}
	return g.pick("PRINT:v", "PRINT:v:", "PRINT:a:%lf", "PRINT:a:MAX", "PRINT:q:%lf", "PRINT:v:%lf:x", "PRINT:vname=v:format=%lf", "PRINT:v:cf=MAX:%lf", "PRINT:a:cf=MAX:%lf", "PRINT:a:%lf:cf=MIN",
		"PRINT:w:%lf:vformatter=x", "PRINT:w:%lf:valstrftime", "PRINT:w:%le:valstrfduration", "PRINT:a:LAST:%Y:strftime", "PRINT:t:strftime:%H", "PRINT:t:%d:strftime=1", "PRINT", "GPRINT", "COMMENT", "TEXTALIGN", "TEXTALIGN:top", "TEXTALIGN:align=right", "COMMENT:legend=x")
}

func (g *markGenerator) drawing() string {
	color := g.pick("", "", "#ff0000", "#00FF00aa", "#fff", "#abcd", "#12345", "#gg0000", "#", "#ff0000#00ff00", "#ff0000#0")
	legend := g.pick("", ":leg", ":a text", ":", `:x\:y`, ":STACK", ":%lf")
	switch g.r.IntN(6) {
	case 0, 1:
		return g.pick("LINE", "LINE1", "LINE2.5", "LINE0", "LINEx", "LINE-1") + ":" + g.pick("a", "b", "c", "v", "w", "17", "q", "1e3", "x") + color + legend
	case 2:
		return "AREA:" + g.pick("a", "b", "c", "v", "5", "q") + color + legend
	case 3:
		return "STACK:" + g.pick("a", "c", "v", "q") + color + legend
	case 4:
		return "TICK:" + g.pick("a", "v", "1", "q") + color + ":" + g.pick("0.5", "1", "-1", "x", "", "2x") + legend
	}
	return g.pick("HRULE", "VRULE") + ":" + g.pick("5", "v", "a", "q", "1000000000", "3.5") + color + legend
}

// words are arguments at random.
func (g *markGenerator) words() string {
	var b strings.Builder
	for range g.r.IntN(6) {
		b.WriteString(g.pick(":", ":", ":", `\:`, "") + g.pick("a", "v", "5", "x", "MAX", "%lf", "%Y", "strftime", "STACK", "dashes", "dashes=2", "skipscale", "vname=a", "vname=v", "format=%le", "cf=LAST", "legend=y",
			"color=#fff", "color=fff", "color2=ff0000", "a#ff0000", "v#123456", "0.5", "fraction=0.2", "linewidth=3", "gradheight=1", "dash-offset=1", "align=left", "k=v", "=", "", "valstrftime", "cmd=LINE"))
	}
	return b.String()
}

// format is one of a number.
func (g *markGenerator) format() string {
	if g.one(8) {
		return g.pick("%lf%lf", "%s%lf", "%", "%d", "x", "%lf%", "%.lf", "%'lf", "%*lf", "%lf%s%S", "%Lf", "%+-lf", "%- lf", "%5.lf", "%lf%c", "%la", "%l", "%5", "%%", "%s", "% %lf", "%lf%z")
	}
	text := func() string { return g.pick("", "", "", "a ", "%%", "x%%y", "ü", `\l`, `"`) }
	number := "%" + g.pick("", "", "", "+", "-", " ", "0", "#") + g.pick("", "", "5", "12", "08", "30", "150") + g.pick("", "", ".0", ".1", ".2", ".3", ".10", ".17", ".25") + g.pick("lf", "lf", "le", "lg", "lE", "lG", "lF")
	return text() + number + text() + g.pick("", "", "%s", "%S") + text()
}

// timeFormat is one of strftime.
func (g *markGenerator) timeFormat() string {
	var b strings.Builder
	for range 1 + g.r.IntN(4) {
		b.WriteString(g.pick("", "", "x ", "%%", "ü", "-"))
		b.WriteString("%" + g.pick("", "", "", "", "_", "-", "0", "^", "#", "^#", "-_") + g.pick("", "", "", "3", "10") + g.pick("", "", "", "E", "O"))
		b.WriteString(g.pick(strings.Split("aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%QJ+LqN ", "")...))
	}
	return strings.ReplaceAll(b.String(), ":", `\:`)
}
