package graph

import (
	"fmt"
	"math"

	"github.com/rondo-db/rondo/query/graphdata"
)

// A ySpacing is how far the lines of the y axis stand apart.
type ySpacing struct {
	step   float64
	factor int    // every how many lines one has a label
	format string // of fmt, for a number; empty: the usual one
}

var classicGrids = [...]struct {
	step    float64
	factors [4]int
}{
	{.1, [4]int{1, 2, 5, 10}},
	{.2, [4]int{1, 5, 10, 20}},
	{.5, [4]int{1, 2, 4, 10}},
	{1, [4]int{1, 2, 5, 10}},
	{2, [4]int{1, 5, 10, 20}},
	{5, [4]int{1, 2, 4, 10}},
	{10, [4]int{1, 2, 5, 10}},
	{20, [4]int{1, 5, 10, 20}},
	{50, [4]int{1, 2, 4, 10}},
	{100, [4]int{1, 2, 5, 10}},
	{200, [4]int{1, 5, 10, 20}},
	{500, [4]int{1, 2, 4, 10}},
}

const (
	// leastGrid is how near lines may stand, in pixels.
	leastGrid = 5
	// labelRoom is how near labels may stand, in sizes of the font.
	labelRoom = 1.8
)

// spacing works out the lines of an axis that is not logarithmic.
func (l *Layout) spacing() ySpacing {
	o := l.o
	if o.YFactor > 0 {
		return ySpacing{step: o.YStep, factor: o.YFactor}
	}
	length := l.Max - l.Min
	size := o.Fonts[Axis].Size
	if o.AltYGrid {
		return l.altSpacing(length, size)
	}
	chosen, pixels := classicGrids[len(classicGrids)-1], 0
	for i, g := range classicGrids {
		pixels = int(float64(l.Height) / (length / l.scale.factor / g.step))
		if pixels >= leastGrid || i == len(classicGrids)-1 {
			chosen = g
			break
		}
	}
	s := ySpacing{step: chosen.step * l.scale.factor, factor: 2}
	for _, k := range chosen.factors {
		if float64(pixels*k) >= labelRoom*size {
			s.factor = k
			break
		}
	}
	return s
}

// altSpacing works out the lines of --alt-y-grid: at round numbers, as many as there is room for.
func (l *Layout) altSpacing(length, size float64) ySpacing {
	view := l.scale.viewFactor / l.scale.factor
	s := ySpacing{factor: 1}
	decimals := math.Ceil(math.Log10(max(math.Abs(l.Max), math.Abs(l.Min)) * l.scale.viewFactor / l.scale.factor))
	decimals = max(decimals, 1)
	s.step = math.Pow(10, math.Floor(math.Log10(length*l.scale.viewFactor/l.scale.factor))) / l.scale.viewFactor * l.scale.factor
	if s.step == 0 {
		s.step = 0.1
	}
	if length/s.step < 5 && s.step >= 30 {
		s.step /= 10
	}
	if length/s.step > 15 {
		s.step *= 10
	}
	if length/s.step > 5 {
		if length/s.step > 8 || s.step < labelRoom*size {
			s.factor = 2
		}
	} else {
		s.step /= 5
		s.factor = 5
	}
	fraction := math.Floor(math.Log10(s.step * float64(s.factor) * view))
	decimals, fraction = min(decimals, 400), min(max(fraction, -400), 400)
	if fraction < 0 {
		s.format = fmt.Sprintf("%%%d.%df", int(decimals-fraction+1), int(-fraction))
	} else {
		s.format = fmt.Sprintf("%%%d.0f", int(decimals+1))
	}
	return s
}

// yLines lays out the lines and the labels of the y axis, and the labels of the right one.
func (l *Layout) yLines() {
	if l.o.Log {
		l.logLines()
		return
	}
	s := l.spacing()
	from, to := l.Min/s.step-1, l.Max/s.step+1
	if !(math.Abs(from) < math.MaxInt32 && math.Abs(to) < math.MaxInt32 && to-from < maxLines) {
		return
	}
	first, last := int(from), int(to)
	axis := l.axis(s, first, last)
	for i := first; i <= last; i++ {
		v := s.step * float64(i)
		y := l.y(v)
		if !l.inside(y) {
			continue
		}
		next := l.y(s.step * float64(i+1))
		alone := len(l.YLabels) == 1 && (next < l.Top || next > l.Top+float64(l.Height))
		if (i%s.factor == 0 || alone) && len(l.YLabels) < maxLabels {
			l.YLines = append(l.YLines, Line{At: y, Major: true})
			l.YLabels = append(l.YLabels, Label{At: y, Text: short(axis.left(i))})
			if l.o.HasRight {
				l.RightLabels = append(l.RightLabels, Label{At: y, Text: short(axis.right(v*l.o.RightScale + l.o.RightBase))})
			}
		} else if !l.o.NoMinor {
			l.YLines = append(l.YLines, Line{At: y})
		}
	}
}

// An axis writes the labels of the y axes.
type axis struct {
	l      *Layout
	s      ySpacing
	step   float64 // as it is shown
	short  bool    // the numbers have a digit behind the point
	divide float64 // of the right axis
	prefix string
}

func (l *Layout) axis(s ySpacing, first, last int) *axis {
	a := &axis{l: l, s: s, step: s.step / l.scale.factor * l.scale.viewFactor}
	a.short = a.step*float64(last) < 10
	middle := s.step*float64(first+last)/2*l.o.RightScale + l.o.RightBase
	a.divide, a.prefix = graphdata.Prefix(l.o.Base, middle)
	return a
}

// left is the label of a line of the left axis.
func (a *axis) left(i int) string {
	o, v := a.l.o, a.step*float64(i)
	if text, ok := a.l.styled(o.Left, a.s.step*float64(i), v); ok {
		return text
	}
	format := a.s.format
	if format == "" {
		if format = "%4.0f"; a.short {
			format = "%4.1f"
		}
	}
	symbol := a.l.scale.symbol
	if symbol == ' ' {
		return o.Point.In(fmt.Sprintf(format, v))
	}
	if i == 0 {
		symbol = ' '
	}
	return o.Point.In(fmt.Sprintf(format+" %c", v, symbol))
}

// right is the label of a value of the right axis.
func (a *axis) right(v float64) string {
	o := a.l.o
	if text, ok := a.l.styled(o.Right, v, v); ok {
		return text
	}
	if a.short {
		return o.Point.In(fmt.Sprintf("%5.1f %s", v/a.divide, a.prefix))
	}
	return fmt.Sprintf("%5.0f %s", v/a.divide, a.prefix)
}

// styled is a number as the options say, if they say how: time as a time or a duration, or v in a
// format that is known to be right.
func (l *Layout) styled(s AxisStyle, time, v float64) (text string, ok bool) {
	switch {
	case s.Formatter == Timestamp:
		return l.o.Names.FormatTimestamp(s.Format, time), true
	case s.Formatter == Duration:
		if text, ok = graphdata.FormatDuration(s.Format, time, l.o.Point); !ok {
			l.Failed = graphdata.ErrDuration
		}
		return text, true
	case s.Format == "":
		return "", false
	}
	f, _ := graphdata.ParseCFormat(s.Format, false)
	return string(f.Append(nil, v, "", l.o.Point)), true
}
