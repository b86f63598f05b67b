package smon

import (
	"math/bits"

	"github.com/rondo-db/rondo/receivers"
)

// This file is what a Decoder does with complete numbers and strings.

// number takes a complete number.
func (d *Decoder) number(next int64, h Handler) *receivers.Error {
	if d.place == placePeek {
		return d.peeked(next, h)
	}
	base := uint64(0)
	switch d.place {
	case placeToken:
		base = d.previous
	case placeValue:
		base = d.token.last
	case placeNew:
		if d.source != nil {
			base = uint64(d.source.Number)
		}
	}
	v, err := d.value(base)
	if err != nil {
		return err
	}
	switch d.place {
	case placeToken:
		return d.named(v)
	case placeValue:
		d.token.last = v
		d.declare(h)
		h.Unsigned(d.token, d.effective(d.token), v)
		d.finish(next)
	case placeText:
		return d.beginText(v, next, h)
	case placeDeclare, placeFresh:
		return d.beginDeclaration(v)
	case placeSource:
		if v == 0 {
			d.expect(placeFresh)
			return nil
		}
		if d.source = d.tokens.get(v); d.source == nil {
			return fault(receivers.State, "source token %d is not defined", v)
		}
		d.expect(placeNew)
	case placeNew:
		return d.define(v)
	case placeIndex:
		d.index(v)
	}
	return nil
}

// value returns the number that was read, relative to base.
func (d *Decoder) value(base uint64) (uint64, *receivers.Error) {
	switch {
	case d.sign == leadEqual && d.over:
		return 0, fault(receivers.Unsupported, "%s of more than 64 bits", d.place)
	case d.sign == leadEqual:
		return d.n, nil
	case d.sign == leadMinus && d.n <= base:
		return base - d.n, nil
	case d.sign == leadPlus && !d.over:
		if v, carry := bits.Add64(base, d.n, 0); carry == 0 {
			return v, nil
		}
	}
	return 0, malformed("%s is out of range", d.place)
}

// named takes the token number at the beginning of an element.
func (d *Decoder) named(n uint64) *receivers.Error {
	if n == 0 {
		d.indexed, d.source = false, nil
		d.expect(placeDeclare)
		return nil
	}
	t := d.tokens.get(n)
	if t == nil {
		return fault(receivers.State, "token %d is not defined", n)
	}
	d.token = t
	d.expectValue()
	return nil
}

func (d *Decoder) expectValue() {
	d.expect(placeValue)
	if d.token.Type == String {
		d.place = placeText
	}
}

// declare hands over a definition, now that its element is complete.
func (d *Decoder) declare(h Handler) {
	if d.defined {
		h.Declare(d.token)
	}
}

// finish ends an element. next is the offset of the next byte.
func (d *Decoder) finish(next int64) {
	d.previous = uint64(d.token.Number)
	d.defined, d.row, d.start = false, 0, next
	d.expect(placeToken)
}

// beginDeclaration takes the length of a declaration. Some senders do not count the type, so the
// length may be one too small.
func (d *Decoder) beginDeclaration(n uint64) *receivers.Error {
	switch {
	case n < MinName:
		return malformed("declaration of %d bytes", n)
	case n > MaxName+1:
		return fault(receivers.Limit, "declaration of %d bytes", n)
	}
	d.text = d.text[:0]
	d.token = nil
	d.beginString(n)
	return nil
}

// beginText takes the length of a token's string.
func (d *Decoder) beginText(n uint64, next int64, h Handler) *receivers.Error {
	t := d.token
	before := uint64(len(t.text))
	if d.sign == leadEqual {
		before = 0
	}
	if n > MaxText || before+n > MaxText {
		return fault(receivers.Limit, "text of more than %d bytes", MaxText)
	}
	if n > 0 || d.sign == leadEqual {
		t.changes++
	}
	t.text = t.text[:before]
	if n > 0 {
		d.beginString(n)
		return nil
	}
	d.endString(next, h)
	return nil
}

func (d *Decoder) endString(next int64, h Handler) {
	t := d.token
	if t == nil {
		d.step = stepAfter
		return
	}
	d.declare(h)
	h.String(t, d.effective(t), t.text)
	d.finish(next)
}

// declared checks the length of a complete declaration.
func (d *Decoder) declared() *receivers.Error {
	switch n := len(d.text) - 1; {
	case n < MinName:
		return malformed("declaration of %d bytes", n+1)
	case n > MaxName:
		return fault(receivers.Limit, "declaration of %d bytes", n+1)
	}
	return nil
}

// shortReading takes the byte after a declaration as the number of the new token.
func (d *Decoder) shortReading() *receivers.Error {
	if err := d.declared(); err != nil {
		return err
	}
	return d.define(uint64(d.saved))
}

// peeked takes the number after the byte that follows a declaration. If it is the number of the new
// token, the byte belongs to the declaration; otherwise the byte was the number of the new token.
func (d *Decoder) peeked(next int64, h Handler) *receivers.Error {
	if v, err := d.value(0); err == nil && v == d.highest+1 {
		d.text = append(d.text, d.saved)
		if err := d.declared(); err != nil {
			return err
		}
		return d.define(v)
	}
	if err := d.shortReading(); err != nil {
		return err
	}
	if d.place == placeText && d.sign == leadMinus {
		return malformed("lead byte %02X for %s", leadMinus, d.place)
	}
	return d.number(next, h)
}

// define makes the token n.
func (d *Decoder) define(n uint64) *receivers.Error {
	switch {
	case n == 0:
		return malformed("token 0 defined")
	case n > MaxToken:
		return fault(receivers.Limit, "token %d", n)
	case d.tokens.get(n) != nil:
		return fault(receivers.State, "token %d is defined already", n)
	}
	own := 0
	if d.indexed {
		own = d.depth
		if d.source != nil {
			own = max(own, len(d.source.Index))
		}
	}
	cost := tokenCost + 8*own
	if d.source == nil {
		cost += len(d.text)
	}
	if d.tokens.newPage(n) {
		cost += pageCost
	}
	if err := d.charge(cost); err != nil {
		return err
	}
	t := &Token{Number: uint16(n)}
	if d.source != nil {
		t.Type, t.Name = d.source.Type, d.source.Name
	} else {
		t.Type, t.Name = Type(d.text[0]), string(d.text[1:])
	}
	if own > 0 {
		t.Index = make([]uint64, own)
		copy(t.Index, d.current[:d.depth])
		if d.source != nil {
			copy(t.Index, d.source.Index)
		}
	}
	d.tokens.put(t)
	d.highest = max(d.highest, n)
	d.token, d.defined = t, true
	d.expectValue()
	return nil
}
