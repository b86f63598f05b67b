package charts

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/quantity"
)

// Arguments returns the chart as arguments of rrdtool's graph: options and lines, without size and
// range. It returns nil if a path or a data source ends in a backslash, because the graph language
// cannot express that.
func (c *Chart) Arguments() []string {
	if slices.ContainsFunc(c.Lines, func(l Line) bool { return strings.HasSuffix(l.Path, `\`) || strings.HasSuffix(l.DS, `\`) }) {
		return nil
	}
	args := []string{"--title", oneLine(c.Title)}
	if c.Unit != "" {
		args = append(args, "--vertical-label", oneLine(c.Unit))
	}
	args = append(args, "--base", strconv.Itoa(c.Base))
	if !quantity.Prefixed(c.Unit) {
		args = append(args, "--units-exponent", "0")
	}
	if !math.IsNaN(c.Lower) {
		args = append(args, "--lower-limit", number(c.Lower))
	}
	if !math.IsNaN(c.Upper) {
		args = append(args, "--upper-limit", number(c.Upper))
	}
	if c.Percent {
		args = append(args, "--rigid")
	}
	a := arguments{chart: c, args: args}
	for i := range c.Lines {
		a.define(i)
	}
	if c.Percent {
		a.shares()
	}
	for i := range c.Lines {
		a.draw(i)
	}
	if c.mirrored() {
		a.args = append(a.args, "HRULE:0"+gray)
	}
	return a.args
}

// mirrored reports whether some lines are below zero.
func (c *Chart) mirrored() bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Factor < 0 && l.Offset == 0 })
}

// arguments collects the arguments of a chart. The values of line i are the variable v0, v1 and so
// on. They are above zero even if the line is mirrored.
type arguments struct {
	chart *Chart
	args  []string
}

func (a *arguments) add(format string, args ...any) {
	a.args = append(a.args, fmt.Sprintf(format, args...))
}

// define adds the DEF and CDEF of a line, and for a band the DEF and CDEF of its two edges as well.
func (a *arguments) define(i int) {
	l := &a.chart.Lines[i]
	factor := l.Factor
	if l.Offset == 0 {
		factor = math.Abs(factor)
	}
	one := func(name, cf string) {
		source := name
		if factor != 1 || l.Offset != 0 {
			source = "d" + name
		}
		a.add("DEF:%s=%s:%s:%s", source, escape(l.Path), escape(l.DS), cf)
		switch {
		case l.Offset != 0:
			a.add("CDEF:%s=%s,%s,*,%s,+", name, source, number(factor), number(l.Offset))
		case factor != 1:
			a.add("CDEF:%s=%s,%s,*", name, source, number(factor))
		}
	}
	one(fmt.Sprintf("v%d", i), l.CF)
	if l.Style == styleBand {
		one(fmt.Sprintf("low%d", i), l.MinCF)
		one(fmt.Sprintf("high%d", i), l.MaxCF)
	}
}

// shares replaces each value by its share of the sum, in percent. Unknown values count as nothing.
func (a *arguments) shares() {
	var sum strings.Builder
	for i := range a.chart.Lines {
		if i > 0 {
			sum.WriteByte(',')
		}
		fmt.Fprintf(&sum, "v%d,UN,0,v%d,IF", i, i)
		if i > 0 {
			sum.WriteString(",+")
		}
	}
	a.add("CDEF:sum=%s", sum.String())
	for i := range a.chart.Lines {
		a.add("CDEF:p%d=v%d,sum,/,100,*", i, i)
	}
}

// draw adds the arguments that draw a line and print its last, mean and largest value.
func (a *arguments) draw(i int) {
	c, l := a.chart, &a.chart.Lines[i]
	value := fmt.Sprintf("v%d", i)
	if c.Percent {
		value = fmt.Sprintf("p%d", i)
	}
	shown := value
	if l.Factor < 0 && l.Offset == 0 {
		shown = fmt.Sprintf("n%d", i)
		a.add("CDEF:%s=%s,-1,*", shown, value)
	}
	label := escape(pad(oneLine(l.Label), a.width()))
	stack := ""
	if c.Stack && i > 0 && !l.Restart && l.Style != styleLine {
		stack = ":STACK"
	}
	switch l.Style {
	case styleBand:
		a.add("CDEF:band%d=high%d,low%d,-", i, i, i)
		a.add("AREA:low%d", i)
		a.add("AREA:band%d%s40::STACK", i, l.Color)
		a.add("LINE1:%s%s:%s", shown, l.Color, label)
	case styleArea:
		a.add("AREA:%s%s:%s%s", shown, l.Color, label, stack)
	default:
		a.add("LINE1:%s%s:%s", shown, l.Color, label)
	}
	prefix := ""
	if quantity.Prefixed(c.Unit) {
		prefix = "%s"
	}
	a.add("GPRINT:%s:LAST:%%8.2lf%s last", value, prefix)
	a.add("GPRINT:%s:AVERAGE:%%8.2lf%s mean", value, prefix)
	a.add(`GPRINT:%s:MAX:%%8.2lf%s max\l`, value, prefix)
}

// maxPadded bounds the width to which labels are filled up with spaces.
const maxPadded = 24

// width returns the characters of the longest label.
func (a *arguments) width() int {
	n := 0
	for i := range a.chart.Lines {
		n = max(n, len([]rune(a.chart.Lines[i].Label)))
	}
	return min(n, maxPadded)
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-len([]rune(s)), 0))
}

// escape makes a text a part of an argument: colons get a backslash. Other backslashes need none,
// because the graph language takes a backslash literally unless a colon follows.
func escape(s string) string { return strings.ReplaceAll(s, ":", `\:`) }

// oneLine replaces the characters that a legend takes as instructions: backslashes and control
// characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case r < ' ':
			return ' '
		}
		return r
	}, s)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
