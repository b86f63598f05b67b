package rows

import (
	"math"
	"math/bits"
)

// A Coder codes strips, one after the other, as [Append] does. It keeps its working memory, and
// what it has found out about scales, from one strip to the next. So it takes less time for a
// strip. The zero Coder is ready for use.
type Coder struct {
	block blockEncoder
	notes scaleNotes
}

// Append is the function [Append]. It keeps h until the next call.
func (c *Coder) Append(dst []byte, rows []float64, pdpsPerRow int64, h *Hint) []byte {
	if h == nil {
		h = new(Hint)
	}
	if len(rows) > 0 && uniform(rows) {
		return appendUniform(dst, rows[0], pdpsPerRow, h)
	}
	e := &c.block
	e.pdps, e.hint, e.notes = pdpsPerRow, h, &c.notes
	return e.appendBlocks(dst, rows)
}

// scaleNotes are notes about scales; each scale has one place where its note may stand.
type scaleNotes [32]scaleNote

// A scaleNote is what is known about a scale.
type scaleNote struct {
	m       uint64 // the scale; 0: no note
	pdps    int64
	code    uint // its scale code
	even    bool
	factors int           // odd prime factors; -1: they are not known
	factor  [6]oddDivisor // in rising order
}

// An oddDivisor finds whether a number is a multiple of an odd number: v*inverse wraps to v/d if d
// divides v, and to a number above limit if not.
type oddDivisor struct {
	inverse uint64 // times d: 1, in 64 bits
	limit   uint64 // the largest multiple of d, divided by d
}

func (s *scaleNotes) of(m uint64, pdps int64) *scaleNote {
	n := &s[uint32(m^uint64(pdps)<<7)*0x9e3779b1>>27]
	if n.m != m || n.pdps != pdps {
		n.make(m, pdps)
	}
	return n
}

// make makes the note of scale m. It looks for small factors only, so that scales that nobody would
// choose take no time.
func (n *scaleNote) make(m uint64, pdps int64) {
	*n = scaleNote{m: m, pdps: pdps, code: scaleCode(m, pdps), even: m&1 == 0}
	m >>= uint(bits.TrailingZeros64(m)) & 63
	const next = 37 // the first prime that is not tried
	for _, d := range [...]uint64{3, 5, 7, 11, 13, 17, 19, 23, 29, 31} {
		if m%d != 0 {
			continue
		}
		n.add(d)
		for m%d == 0 {
			m /= d
		}
	}
	switch {
	case m == 1:
	case m < next*next: // it is a prime
		n.add(m)
	default:
		n.factors = -1
	}
}

// add adds an odd prime factor.
func (n *scaleNote) add(d uint64) {
	if n.factors < 0 || n.factors == len(n.factor) {
		n.factors = -1
		return
	}
	inverse := d // right in 3 bits, and each turn doubles them
	for range 5 {
		inverse *= 2 - d*inverse
	}
	n.factor[n.factors] = oddDivisor{inverse, math.MaxUint64 / d}
	n.factors++
}

// reduced reports whether the scale and all of q have no common divisor but 1. It may return false
// although they have none.
func (n *scaleNote) reduced(q []int64) bool {
	if n.factors < 0 || n.even && allEven(q) {
		return false
	}
	for i := range n.factors {
		if n.factor[i].divides(q) {
			return false
		}
	}
	return true
}

func allEven(q []int64) bool {
	all := int64(0)
	for _, v := range q {
		all |= v
	}
	return all&1 == 0
}

// divides reports whether d divides all of q. It takes four at a time, because it is hard to
// predict which is the first one that d does not divide.
func (d *oddDivisor) divides(q []int64) bool {
	for ; len(q) >= 4; q = q[4:] {
		a, b, c, e := abs64(q[0])*d.inverse, abs64(q[1])*d.inverse, abs64(q[2])*d.inverse, abs64(q[3])*d.inverse
		if max(a, b, c, e) > d.limit {
			return false
		}
	}
	for _, v := range q {
		if abs64(v)*d.inverse > d.limit {
			return false
		}
	}
	return true
}
