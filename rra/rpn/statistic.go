package rpn

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Statistic is a function of VDEF: it computes one number from a column.
type Statistic struct {
	name  string
	share float64 // of PERCENT and PERCENTNAN
}

// The functions of VDEF.
const (
	statMaximum    = "MAXIMUM"
	statMinimum    = "MINIMUM"
	statAverage    = "AVERAGE"
	statStdev      = "STDEV"
	statLast       = "LAST"
	statFirst      = "FIRST"
	statTotal      = "TOTAL"
	statPercent    = "PERCENT"
	statPercentNaN = "PERCENTNAN"
	statSlope      = "LSLSLOPE"
	statIntercept  = "LSLINT"
	statCorrel     = "LSLCORREL"
)

var statistics = []string{
	statMaximum, statMinimum, statAverage, statStdev, statLast, statFirst, statTotal,
	statPercent, statPercentNaN, statSlope, statIntercept, statCorrel,
}

// maxStatistic is the longest name that rrdtool reads.
const maxStatistic = 29

// ParseStatistic parses the text behind the variable and its comma in the VDEF name: FUNCTION or
// NUMBER,FUNCTION. As in rrdtool, text behind the function of the second form is ignored. The texts
// of errors are rrdtool's, line ends included.
func ParseStatistic(name, text string) (Statistic, error) {
	function, share := "", math.NaN()
	digits := len(text) - len(strings.TrimLeft(text, "0123456789.e+-"))
	v, n := 0.0, 0
	if digits > 0 {
		digits = min(digits, maxNumber)
		v, n = ScanNumber(text[:digits])
	}
	if digits > 0 && n == digits {
		share = v
		if rest, ok := strings.CutPrefix(text[digits:], ","); ok {
			function = rest[:upper(rest)]
		}
	} else {
		if function = text[:upper(text)]; len(function) != len(text) {
			return Statistic{}, fmt.Errorf("Unknown function string '%s' in VDEF '%s'", text, name)
		}
	}
	s := Statistic{name: function, share: share}
	takes := function == statPercent || function == statPercentNaN
	switch {
	case !slices.Contains(statistics, function):
		return s, fmt.Errorf("Unknown function '%s' in VDEF '%s'\n", function, name)
	case takes && math.IsNaN(share):
		return s, fmt.Errorf("Function '%s' needs parameter in VDEF '%s'\n", function, name)
	case takes && !(share >= 0 && share <= 100):
		return s, fmt.Errorf("Parameter '%s' out of range in VDEF '%s'\n", strings.TrimPrefix(strings.ToLower(fmt.Sprintf("%f", share)), "+"), name)
	case !takes && !math.IsNaN(share):
		return s, fmt.Errorf("Function '%s' needs no parameter in VDEF '%s'\n", function, name)
	}
	return s, nil
}

// upper returns how many capital letters text begins with, of those that may be a name.
func upper(text string) int {
	return min(len(text)-len(strings.TrimLeft(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")), maxStatistic)
}

// At returns the statistic of a column; NaN if the column has none. Unknown and infinite values do
// not count, with these exceptions. For FIRST and LAST infinity counts. For MAXIMUM and MINIMUM it
// counts in the first known row. For PERCENT unknown values are less than every number, and
// infinity counts; PERCENTNAN ignores only unknown values.
//
// at is the time of the statistic, in seconds since 1970: the end of the row whose value it is, or
// for FIRST the start of that row. timed is false if the statistic is not the value of one row, or
// the column has no known value.
func (s Statistic) At(c Series) (value float64, at int64, timed bool) {
	if row, ok := s.row(c.Values); ok {
		value = c.Values[row]
		if s.name == statFirst {
			row--
		}
		return value, c.Start + int64(row+1)*c.Step, true
	}
	return s.of(c), 0, false
}

// of returns a statistic that is not the value of one row.
func (s Statistic) of(c Series) float64 {
	if s.name == statPercent || s.name == statPercentNaN {
		return s.percentile(c.Values)
	}
	n, sum := 0, 0.0
	var line leastSquares
	for i, v := range c.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		n++
		sum += v
		line.add(float64(i), v)
	}
	switch {
	case n == 0 || s.ofRow():
		return math.NaN()
	case s.name == statTotal:
		return sum * float64(c.Step)
	case s.name == statAverage:
		return sum / float64(n)
	case s.name == statStdev:
		return spread(c.Values, sum/float64(n), n)
	}
	return line.result(s.name)
}

func (s Statistic) ofRow() bool {
	return s.name == statMaximum || s.name == statMinimum || s.name == statFirst || s.name == statLast
}

// row returns the row whose value the statistic is, if there is one. For MAXIMUM and MINIMUM
// infinity counts only in the first known row.
func (s Statistic) row(values []float64) (row int, ok bool) {
	if !s.ofRow() {
		return 0, false
	}
	row = -1
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		switch {
		case s.name == statFirst:
			return i, true
		case row < 0, s.name == statLast:
			row = i
		case math.IsInf(v, 0):
		case s.name == statMaximum && v > values[row], s.name == statMinimum && v < values[row]:
			row = i
		}
	}
	return row, row >= 0
}

// spread returns the standard deviation of the n finite values, taken as a whole population.
func spread(values []float64, mean float64, n int) float64 {
	squares := 0.0
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			squares += float64((v - mean) * (v - mean))
		}
	}
	return math.Sqrt(squares / float64(n))
}

func (s Statistic) percentile(values []float64) float64 {
	v := slices.Clone(values)
	if s.name == statPercentNaN {
		v = slices.DeleteFunc(v, math.IsNaN)
	}
	if len(v) == 0 {
		return math.NaN()
	}
	sortColumn(v)
	return v[int(math.Round(float64(s.share*float64(len(v)-1))/100))]
}

// leastSquares holds the sums from which the line of least squares through points is computed.
type leastSquares struct {
	n                int
	x, y, xx, xy, yy float64
}

func (l *leastSquares) add(x, y float64) {
	l.n++
	l.x += x
	l.y += y
	l.xx += float64(x * x)
	l.xy += float64(x * y)
	l.yy += float64(y * y)
}

func (l *leastSquares) result(name string) float64 {
	n := float64(l.n)
	// In this order a slope of 0 has rrdtool's sign.
	slope := (float64(l.x*l.y) - float64(n*l.xy)) / (float64(l.x*l.x) - float64(n*l.xx))
	switch name {
	case statSlope:
		return slope
	case statIntercept:
		return (l.y - float64(slope*l.x)) / n
	}
	return (l.xy - float64(l.x*l.y)/n) / math.Sqrt(float64((l.xx-float64(l.x*l.x)/n)*(l.yy-float64(l.y*l.y)/n)))
}
