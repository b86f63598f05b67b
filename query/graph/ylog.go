package graph

import (
	"fmt"
	"math"

	"github.com/rondo-db/rondo/query/graphdata"
)

// logRows are the numbers of a decade that have lines with labels, from few to many.
var logRows = [...][]int{{1}, {1, 5}, {1, 2, 5, 7}, {1, 2, 4, 6, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}

// A decades is the lines of a logarithmic axis.
type decades struct {
	every int // decades from one with labels to the next
	row   []int
	all   bool // every number has a label

	exponent, at int // of the line at hand: its decade, and which of the row it is
}

// decades chooses the lines so that labels have room.
func (l *Layout) decades() *decades {
	size := l.o.Fonts[Legend].Size
	decade := float64(l.Height) / math.Log10(l.Max/l.Min)
	d := &decades{every: 1}
	for float64(d.every)*decade < 3*size && d.every < maxLines {
		if d.every == 1 {
			d.every = 0
		}
		d.every += 3
	}
	chosen := 0
	for i, row := range logRows {
		gap := math.Log10(10/float64(row[len(row)-1])) * decade
		if gap > 2*size {
			chosen = i
			continue
		}
		break
	}
	d.row, d.all = logRows[chosen], chosen == len(logRows)-1
	mantissa, exponent := decimal(l.Min)
	for d.at < len(d.row) && mantissa > float64(d.row[d.at]) {
		d.at++
	}
	if d.at == len(d.row) {
		d.at, exponent = 0, exponent+1
	}
	if off := -exponent % d.every; off != 0 {
		exponent += max(off, -off)
	}
	d.exponent = exponent
	return d
}

// decimal is a number as mantissa and exponent.
func decimal(v float64) (mantissa float64, exponent int) {
	exponent = int(math.Floor(math.Log(math.Abs(v)) / math.Log(10)))
	mantissa = v / math.Pow10(exponent)
	if mantissa >= 10 {
		exponent++
		mantissa = v / math.Pow10(exponent)
	}
	return mantissa, exponent
}

// minor are the values of the lines without a label below the line at hand.
func (d *decades) minor() []float64 {
	var values []float64
	switch {
	case d.every > 1:
		third := d.every / 3
		for e := d.exponent - 2*third; e < d.exponent; e += third {
			values = append(values, math.Pow10(e))
		}
	case d.all:
	default:
		from, to, exponent := d.row[len(d.row)-1]+1, 10, d.exponent-1
		if d.at > 0 {
			from, to, exponent = d.row[d.at-1]+1, d.row[d.at], d.exponent
		}
		for n := from; n < to; n++ {
			values = append(values, float64(n)*math.Pow10(exponent))
		}
	}
	return values
}

// next goes to the next line with a label.
func (d *decades) next() {
	if d.at++; d.at == len(d.row) {
		d.at = 0
		d.exponent += d.every
	}
}

// logLines lays out the lines and the labels of a logarithmic y axis.
func (l *Layout) logLines() {
	d := l.decades()
	previous := math.Inf(-1)
	for range maxLines {
		v := float64(d.row[d.at]) * math.Pow10(d.exponent)
		if near(v, previous) { // they no longer differ
			break
		}
		previous = v
		y := l.y(v)
		above := math.Floor(y+0.5) <= l.Top
		if !above {
			l.YLines = append(l.YLines, Line{At: y, Major: true})
			l.YLabels = append(l.YLabels, Label{At: y, Text: l.logLabel(d, v)})
			if l.o.HasRight {
				l.RightLabels = append(l.RightLabels, Label{At: y, Text: l.rightLogLabel(v*l.o.RightScale + l.o.RightBase)})
			}
		}
		if !l.o.NoMinor {
			l.logMinor(d.minor())
		}
		if above {
			break
		}
		d.next()
	}
}

func (l *Layout) logMinor(values []float64) {
	for _, v := range values {
		if v < l.Min {
			continue
		}
		y := l.y(v)
		if math.Floor(y+0.5) <= l.Top {
			return
		}
		l.YLines = append(l.YLines, Line{At: y})
	}
}

func (l *Layout) logLabel(d *decades, v float64) string {
	if !l.o.SI {
		return fmt.Sprintf("%3.0e", v)
	}
	power := d.exponent % 3
	if v < 1 {
		power = (d.exponent+1)%3 + 2
	}
	symbol := byte(outOfScale)
	if i := int(math.Floor(float64(d.exponent)/3)) + noSymbol; i >= 0 && i < len(symbols) {
		symbol = symbols[i]
	}
	return fmt.Sprintf("%3.0f %c", math.Pow10(power)*float64(d.row[d.at]), symbol)
}

func (l *Layout) rightLogLabel(v float64) string {
	if !l.o.SI {
		return fmt.Sprintf("%3.0e", v)
	}
	divide, prefix := graphdata.Prefix(l.o.Base, v)
	return fmt.Sprintf("%4.0f %s", v/divide, prefix)
}
