package api

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// text writes JSON as it is.
func (o *output) text(s string) { o.buf = append(o.buf, s...) }

func (o *output) str(s string) { o.buf = appendString(o.buf, s) }

// appendString appends s in quotes. Bytes that are no UTF-8 become U+FFFD. Names and most values of
// labels need no more than quotes.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // no text is wrong
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// items writes n items, with commas between them. item writes one of them.
func (o *output) items(n int, item func(i int)) {
	for i := range n {
		if i > 0 {
			o.text(",")
		}
		item(i)
		o.pass()
	}
}

// list writes strings as an array.
func (o *output) list(of []string) {
	o.text("[")
	o.items(len(of), func(i int) { o.str(of[i]) })
	o.text("]")
}

// point writes a time in milliseconds as seconds, and a value.
func (o *output) point(t int64, v float64) {
	o.buf = appendValue(appendTime(append(o.buf, '['), t), v)
}

// appendValue appends what follows the time of a point: its value, in quotes.
func appendValue(b []byte, v float64) []byte {
	b = append(b, ',', '"')
	if short, ok := appendShort(b, v); ok {
		return append(short, '"', ']')
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return append(strconv.AppendFloat(b, v, format, -1, 64), '"', ']')
}

// appendShort appends a number that has at most 15 digits, three of them behind the point. It
// returns false for all others. Two decimals of at most 15 digits are never the same double: so no
// other text of v is shorter, and strconv would write this one, at more than twice the cost.
func appendShort(b []byte, v float64) ([]byte, bool) {
	m := v * 1000
	if !(math.Abs(m) < 1e15) || m != math.Trunc(m) || m/1000 != v || m == 0 {
		return b, false
	}
	n := int64(m)
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/1000, 10)
	return appendThousandths(b, int(n%1000)), true
}

// appendThousandths appends a point and n thousandths, without zeroes at the end.
func appendThousandths(b []byte, n int) []byte {
	digits := [3]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)}
	switch {
	case n == 0:
		return b
	case n%100 == 0:
		return append(b, '.', digits[0])
	case n%10 == 0:
		return append(b, '.', digits[0], digits[1])
	}
	return append(b, '.', digits[0], digits[1], digits[2])
}

// A clock remembers the times of the points of the first series of an answer as text. The points of
// the other series mostly have the same times. Without it an answer to query_range takes 5 % more
// CPU (BenchmarkAnswer).
type clock struct {
	times []int64
	ends  []int // of the texts
	text  []byte
}

// maxClock is how many times are remembered.
const maxClock = 16 << 10

// append appends the time of point j of a series.
func (c *clock) append(b []byte, j int, t int64) []byte {
	if j < len(c.times) && c.times[j] == t {
		from := 0
		if j > 0 {
			from = c.ends[j-1]
		}
		return append(b, c.text[from:c.ends[j]]...)
	}
	from := len(b)
	b = appendTime(b, t)
	if j == len(c.times) && j < maxClock {
		c.text = append(c.text, b[from:]...)
		c.times, c.ends = append(c.times, t), append(c.ends, len(c.text))
	}
	return b
}

// appendTime appends a time in milliseconds as seconds with at most three decimals.
func appendTime(b []byte, t int64) []byte {
	u := uint64(t)
	if t < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/1000, 10)
	return appendThousandths(b, int(u%1000))
}

// labels writes labels as an object.
func (o *output) labels(ls labels.Labels) {
	b := append(o.buf, '{')
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, l.Name), ':')
		b = appendString(b, l.Value)
	})
	o.buf = append(b, '}')
}

// value writes the value of a query. Histograms are not among the values of rondo's rows.
func (o *output) value(v parser.Value) {
	switch v := v.(type) {
	case promql.Matrix:
		o.matrix(v)
	case promql.Vector:
		o.text("[")
		o.items(len(v), func(i int) {
			o.text(`{"metric":`)
			o.labels(v[i].Metric)
			o.text(`,"value":`)
			o.point(v[i].T, v[i].F)
			o.text("}")
		})
		o.text("]")
	case promql.Scalar:
		o.point(v.T, v.V)
	case promql.String:
		o.buf = append(appendTime(append(o.buf, '['), v.T), ',')
		o.str(v.V)
		o.text("]")
	}
}

// A repeater remembers a value as text. Counters at rest, and at an even rate, have the same value
// at many times.
type repeater struct {
	bits uint64
	text []byte // empty: of no value yet
}

func (r *repeater) append(b []byte, v float64) []byte {
	if bits := math.Float64bits(v); bits != r.bits || len(r.text) == 0 {
		r.bits, r.text = bits, appendValue(r.text[:0], v)
	}
	return append(b, r.text...)
}

func (o *output) matrix(m promql.Matrix) {
	var c clock
	var r repeater
	o.text("[")
	o.items(len(m), func(i int) {
		o.text(`{"metric":`)
		o.labels(m[i].Metric)
		o.text(`,"values":[`)
		o.items(len(m[i].Floats), func(j int) {
			p := &m[i].Floats[j]
			o.buf = r.append(c.append(append(o.buf, '['), j, p.T), p.F)
		})
		o.text("]}")
	})
	o.text("]")
}
