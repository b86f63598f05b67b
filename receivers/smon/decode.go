package smon

import (
	"math/bits"

	"github.com/rondo-db/rondo/receivers"
)

// Decode reads the next piece of the stream.
func (d *Decoder) Decode(b []byte, h Handler) {
	for i := 0; i < len(b); {
		switch d.step {
		case stepSkip:
			i += d.skip(b[i:], d.at+int64(i), h)
			continue
		case stepString:
			n, err := d.stringBytes(b[i:])
			i += n
			if err != nil {
				d.clean = false
				d.fail(err, h)
			} else if d.want == 0 && d.step == stepString {
				d.endString(d.at+int64(i), h)
			}
			continue
		case stepLead:
			if d.place == placeToken {
				if n := d.quick(b[i:]); n > 0 {
					i += n
					d.fills = 0
					h.Unsigned(d.token, d.effective(d.token), d.token.last)
					d.finish(d.at + int64(i))
					continue
				}
			}
		}
		c := b[i]
		i++
		if c != fill {
			d.fills = 0
		} else if d.fills++; d.fills == resetRun {
			d.invalidate()
			continue
		}
		if err := d.byte(c, d.at+int64(i), h); err != nil {
			d.clean = c == fill && d.at+int64(i) == d.start+1
			d.fail(err, h)
		}
	}
	d.at += int64(len(b))
}

// quick reads an element that is a token number and an unsigned value, as most are. It returns the
// length of the element. If the element is of another kind, incomplete or invalid, quick returns 0
// and leaves it to the state machine.
func (d *Decoder) quick(b []byte) int {
	number, n := quickNumber(b, d.previous)
	if n == 0 || n == len(b) {
		return 0
	}
	t := d.tokens.get(number)
	if t == nil || t.Type != Unsigned {
		return 0
	}
	v, k := quickNumber(b[n:], t.last)
	if k == 0 {
		return 0
	}
	d.token, t.last = t, v
	return n + k
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

// byte takes a byte that is not in a string. next is the offset of the next byte.
func (d *Decoder) byte(c byte, next int64, h Handler) *receivers.Error {
	switch d.step {
	case stepNumber:
		if d.n>>56 != 0 {
			d.over = true
		}
		d.n = d.n<<8 | uint64(c)
		if d.left--; d.left > 0 {
			return nil
		}
		if d.sign == leadPlus {
			var carry uint64
			d.n, carry = bits.Add64(d.n, plusOffset, 0)
			d.over = carry != 0
		}
		return d.number(next, h)
	case stepStuff:
		if c != stuffing {
			return malformed("byte %02X after 16 bytes FF in a string", c)
		}
		d.step = stepString
		if d.want == 0 {
			d.endString(next, h)
		}
		return nil
	case stepAfter:
		if nameByte(c) && uint64(c) != d.highest+1 {
			d.saved, d.step = c, stepPeek
			return nil
		}
		if err := d.declared(); err != nil {
			return err
		}
		d.expect(placeNew)
	case stepPeek:
		if c >= codeAppend { // not a number: the declaration was as long as it said
			if err := d.shortReading(); err != nil {
				return err
			}
			break
		}
		d.place = placePeek
	}
	return d.lead(c, next, h)
}

// lead takes the first byte of a number, or an index code.
func (d *Decoder) lead(c byte, next int64, h Handler) *receivers.Error {
	if c >= codeAppend {
		switch {
		case c <= codeClear && d.place.codes():
			return d.indexCode(c)
		case c == codeClear && d.place == placeDeclare:
			d.indexed, d.depth, d.row = true, 0, 0
			d.expect(placeSource)
			return nil
		}
		return malformed("lead byte %02X for %s", c, d.place)
	}
	d.over = false
	switch {
	case c <= leadMost:
		d.sign, d.n = leadPlus, uint64(c)
		return d.number(next, h)
	case c < leadMinus:
		d.sign, d.left = leadPlus, int(c-leadPlus)+1
	case c < leadEqual:
		if d.place == placeText || d.place == placeDeclare || d.place == placeFresh {
			return malformed("lead byte %02X for %s", c, d.place)
		}
		d.sign, d.left = leadMinus, int(c-leadMinus)+1
	case c < leadEqual2:
		d.sign, d.left = leadEqual, int(c-leadEqual)+1
	case c == leadEqual2:
		d.sign, d.left = leadEqual, 12
	default:
		d.sign, d.left = leadEqual, 16
	}
	d.n, d.step = 0, stepNumber
	return nil
}
