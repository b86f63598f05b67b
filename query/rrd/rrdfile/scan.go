package rrdfile

import (
	"bytes"
	"math"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra/rpn"
)

func (p *restorer) double() float64 {
	w := p.word()
	if !p.ok() {
		return 0
	}
	v, n := scanDouble(w)
	if n < len(w) || n == 0 {
		// The text of C's errno.
		reason := "Success"
		if n == 0 {
			reason = "Numerical result out of range"
		}
		p.x.fail("ling", "get_xml_double from '%s' %s", w, reason)
	}
	return v
}

// scanDouble reads the number at the beginning of w as rrdtool does, and returns its length.
func scanDouble(w []byte) (v float64, n int) {
	sign, word := byte('+'), w
	if len(w) > 0 && (w[0] == '-' || w[0] == '+') {
		sign, word = w[0], w[1:]
	}
	if len(word) >= 3 {
		switch strings.ToLower(string(word[:3])) {
		case "nan":
			return math.Float64frombits(rrdtoolNaN), len(w)
		case "inf":
			if sign == '-' {
				return math.Inf(-1), len(w)
			}
			return math.Inf(1), len(w)
		}
	}
	return rpn.ScanNumber(string(w))
}

// long reads an unsigned integer as C's strtoul does: 0x10, 010 and -1 are numbers, and text behind
// the number is ignored.
func (p *restorer) long() uint64 { return p.integer(p.word()) }

// heartbeat reads a heartbeat in seconds.
func (p *restorer) heartbeat() int64 {
	w := p.word()
	if p.o.XenServer && bytes.EqualFold(w, []byte("infinity")) {
		return math.MaxInt32
	}
	return int64(p.integer(w))
}

func (p *restorer) integer(w []byte) uint64 {
	v, negative, _, overflow := numeral.ScanUnsigned(w, 0)
	if overflow {
		p.x.fail("ling", "get_xml_ulong from '%s' Numerical result out of range", w)
	}
	if negative {
		return -v
	}
	return v
}

// time reads a time in seconds as C's strtoll does.
func (p *restorer) time() int64 {
	w := p.word()
	v, negative, _, overflow := numeral.ScanUnsigned(w, 0)
	switch {
	case overflow || v > math.MaxInt64 && !(negative && v == 1<<63):
		p.x.fail("ling", "get_xml_time_t from '%s' Numerical result out of range", w)
	case v > maxSecond:
		p.x.fail("", "lastupdate %s is out of range", w)
	}
	if negative {
		return -int64(v)
	}
	return int64(v)
}
