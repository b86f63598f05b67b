package api

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// text writes JSON as it is.
func (o *output) text(s string) { o.buf = append(o.buf, s...) }

// str writes a string.
func (o *output) str(s string) { o.buf = appendString(o.buf, s) }

const hex = "0123456789abcdef"

// appendString appends s in quotes. Bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	plain := 0 // where the bytes that need nothing begin
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		b = append(b, s[plain:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, `\ufffd`...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i += size
		plain = i
	}
	return append(append(b, s[plain:]...), '"')
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
	b := append(appendTime(append(o.buf, '['), t), ',', '"')
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	o.buf = append(strconv.AppendFloat(b, v, format, -1, 64), '"', ']')
}

// appendTime appends a time in milliseconds as seconds with at most three decimals.
func appendTime(b []byte, t int64) []byte {
	u := uint64(t)
	if t < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/1000, 10)
	if u %= 1000; u == 0 {
		return b
	}
	b = append(b, '.', byte('0'+u/100))
	if u %= 100; u == 0 {
		return b
	}
	b = append(b, byte('0'+u/10))
	if u %= 10; u == 0 {
		return b
	}
	return append(b, byte('0'+u))
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

func (o *output) matrix(m promql.Matrix) {
	o.text("[")
	o.items(len(m), func(i int) {
		o.text(`{"metric":`)
		o.labels(m[i].Metric)
		o.text(`,"values":[`)
		o.items(len(m[i].Floats), func(j int) { o.point(m[i].Floats[j].T, m[i].Floats[j].F) })
		o.text("]}")
	})
	o.text("]")
}
