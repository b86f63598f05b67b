package smon

import (
	"math/bits"

	"github.com/rondo-db/rondo/receivers"
)

// A place is what a number is for.
type place uint8

const (
	placeToken   place = iota
	placeValue         // of a token of unsigned numbers
	placeText          // the length of a token's string
	placeDeclare       // the length of a declaration
	placeSource        // the token that an indexed token is a copy of
	placeNew           // the number of a new token
	placePeek          // the number of a new token, or its value
	placeIndex         // an index
)

var placeNames = [...]string{
	placeToken: "a token's number", placeValue: "a value", placeText: "a string's length", placeDeclare: "a declaration's length",
	placeSource: "a source's number", placeNew: "a new token's number", placePeek: "a number", placeIndex: "an index",
}

func (p place) String() string { return placeNames[p] }

// codes reports whether index codes may precede the number.
func (p place) codes() bool {
	switch p {
	case placeToken, placeValue, placeText, placeSource, placeNew:
		return true
	}
	return false
}

// A numeral is a number as it stands in the stream.
type numeral struct {
	sign byte // leadPlus, leadMinus or leadEqual
	n    uint64
	over bool // it has more than 64 bits
}

// number reads the number for p, relative to base, and index codes before it. c is the first byte.
func (d *Decoder) number(c byte, p place, base uint64) uint64 {
	return d.relative(d.read(c, p), p, base)
}

// relative returns the number x for p, relative to base.
func (d *Decoder) relative(x numeral, p place, base uint64) uint64 {
	v, carry := bits.Add64(base, x.n, 0)
	switch {
	case x.sign == leadEqual && x.over:
		d.fail(receivers.Unsupported, "%s of more than 64 bits", p)
	case x.sign == leadEqual:
		return x.n
	case x.sign == leadMinus && x.n <= base:
		return base - x.n
	case x.sign == leadPlus && !x.over && carry == 0:
		return v
	default:
		d.fail(receivers.Malformed, "%s is out of range", p)
	}
	return 0
}

// read reads the number for p, and index codes before it. c is the first byte.
func (d *Decoder) read(c byte, p place) (x numeral) {
	for ; c >= codeAppend && d.why == nil; c = d.byte() {
		if c > codeClear || !p.codes() {
			d.fail(receivers.Malformed, "lead byte %02X for %s", c, p)
			return x
		}
		d.indexCode(c)
	}
	left := 0
	switch {
	case c <= leadMost:
		return numeral{sign: leadPlus, n: uint64(c)}
	case c < leadMinus:
		x.sign, left = leadPlus, int(c-leadPlus)+1
	case c < leadEqual && (p == placeText || p == placeDeclare):
		d.fail(receivers.Malformed, "lead byte %02X for %s", c, p)
	case c < leadEqual:
		x.sign, left = leadMinus, int(c-leadMinus)+1
	case c < leadEqual2:
		x.sign, left = leadEqual, int(c-leadEqual)+1
	case c == leadEqual2:
		x.sign, left = leadEqual, 12
	default:
		x.sign, left = leadEqual, 16
	}
	for ; left > 0; left-- {
		x.over = x.over || x.n>>56 != 0
		x.n = x.n<<8 | uint64(d.byte())
	}
	if x.sign == leadPlus {
		var carry uint64
		x.n, carry = bits.Add64(x.n, plusOffset, 0)
		x.over = carry != 0
	}
	return x
}

// quick reads an element that is a token number and an unsigned value, as most are, if it is at the
// beginning of b as a whole. It returns the token and the length of the element. If the element is
// of another kind, incomplete or invalid, the length is 0.
func (d *Decoder) quick(b []byte) (*Token, int) {
	number, n := quickNumber(b, d.previous)
	if n == 0 || n == len(b) {
		return nil, 0
	}
	t := d.tokens.get(number)
	if t == nil || t.Type != Unsigned {
		return nil, 0
	}
	v, k := quickNumber(b[n:], t.last)
	if k == 0 {
		return nil, 0
	}
	t.last = v
	return t, n + k
}

// quickNumber reads a number relative to base. It returns an n of 0 if the number is incomplete or
// out of range, or ends in a fill byte, which would have to be counted.
func quickNumber(b []byte, base uint64) (v uint64, n int) {
	c := b[0]
	if c <= leadMost {
		v = base + uint64(c)
		if v < base {
			return 0, 0
		}
		return v, 1
	}
	n = int(c&7) + 2
	if c >= leadEqual2 || n > len(b) || b[n-1] == fill {
		return 0, 0
	}
	for _, c := range b[1:n] {
		v = v<<8 | uint64(c)
	}
	switch {
	case c >= leadEqual:
		return v, n
	case c >= leadMinus:
		if v > base {
			return 0, 0
		}
		return base - v, n
	}
	if v += plusOffset; v < plusOffset || base+v < base {
		return 0, 0
	}
	return base + v, n
}

// indexCode changes the current index as the code c says, and the number that it reads.
func (d *Decoder) indexCode(c byte) {
	switch {
	case c == codeClear:
		d.depth, d.row = 0, 0
		return
	case c == codeAppend && d.depth == MaxDepth:
		d.fail(receivers.Limit, "more than %d indexes", MaxDepth)
	case c == codeLast && d.depth == 0:
		d.fail(receivers.State, "FB without an index")
	case c == codeBefore && d.row+2 > d.depth:
		d.fail(receivers.State, "FC without an index to replace")
	}
	n := d.number(d.byte(), placeIndex, 0)
	switch {
	case d.why != nil:
		return
	case c == codeBefore:
		d.row++
		d.current[d.depth-1-d.row] = n
		return
	case c == codeAppend:
		d.depth++
	}
	d.current[d.depth-1], d.row = n, 0
}

// effective returns the index of a value of t: the token's own index, followed by the rest of the
// current one.
func (d *Decoder) effective(t *Token) []uint64 {
	own := len(t.Index)
	switch {
	case own == 0:
		return d.current[:d.depth]
	case own >= d.depth:
		return t.Index
	}
	copy(d.whole[:], t.Index)
	copy(d.whole[own:], d.current[own:d.depth])
	return d.whole[:d.depth]
}
