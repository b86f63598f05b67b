package smon

import "github.com/rondo-db/rondo/receivers"

// element reads one element, and the quick ones before it.
func (d *Decoder) element() {
	for b := d.more(); len(b) > 0; {
		t, n := d.quick(b)
		if n == 0 {
			break
		}
		b = b[n:]
		d.pos += n
		d.fills, d.previous = 0, uint64(t.Number)
		d.h.Unsigned(t, d.effective(t), t.last)
	}
	d.start, d.row = d.offset(), 0
	n := d.number(d.byte(), placeToken, d.previous)
	t := d.tokens.get(n)
	switch {
	case n == 0:
		d.definition()
	case t == nil:
		d.fail(receivers.State, "token %d is not defined", n)
	default:
		d.value(d.byte(), t, false)
	}
}

// value reads the value of t, with which an element ends. c is the first byte. defined says that
// the element defines the token.
func (d *Decoder) value(c byte, t *Token, defined bool) {
	p := placeValue
	if t != nil && t.Type == String {
		p = placeText
	}
	d.take(d.read(c, p), t, defined)
}

// take takes the number x, which is the value of t, or the length of its text.
func (d *Decoder) take(x numeral, t *Token, defined bool) {
	switch {
	case d.why != nil:
	case t.Type == String:
		d.appendText(x, t)
	default:
		t.last = d.relative(x, placeValue, t.last)
	}
	if d.why != nil {
		return
	}
	d.previous = uint64(t.Number)
	if defined {
		d.h.Declare(t)
	}
	if t.Type == String {
		d.h.String(t, d.effective(t), t.text)
	} else {
		d.h.Unsigned(t, d.effective(t), t.last)
	}
}

// appendText reads x bytes that go on with the text of t, or replace it, if x is absolute.
func (d *Decoder) appendText(x numeral, t *Token) {
	if x.sign == leadMinus {
		d.fail(receivers.Malformed, "lead byte %02X for %s", leadMinus, placeText)
	}
	n, before := d.relative(x, placeText, 0), len(t.text)
	if x.sign == leadEqual {
		before = 0
	}
	if n > MaxText || before+int(n) > MaxText {
		d.fail(receivers.Limit, "text of more than %d bytes", MaxText)
	}
	if d.why != nil {
		return
	}
	if n > 0 || x.sign == leadEqual {
		t.changes++
	}
	t.text = t.text[:before]
	d.string(int(n), func(b []byte) {
		if need := len(t.text) + len(b); need > cap(t.text) {
			// The memory grows with the bytes that come, not with those that are announced.
			most := min(max(2*cap(t.text), need, 32), MaxText)
			d.charge(most - cap(t.text))
			t.text = append(make([]byte, 0, most), t.text...)
		}
		t.text = append(t.text, b...)
	})
}

// string reads a string of n bytes, and calls add with its parts.
func (d *Decoder) string(n int, add func(b []byte)) {
	if n > 0 && d.why == nil { // the number before it may have fill bytes at its end
		d.fills = 0
	}
	for n > 0 && d.why == nil {
		b := d.more()
		if len(b) == 0 {
			return
		}
		b = d.run(b[:min(len(b), n)])
		d.pos += len(b)
		n -= len(b)
		add(b)
		if d.fills == stuffRun && d.why == nil {
			if c := d.byte(); c != stuffing {
				d.fail(receivers.Malformed, "byte %02X after 16 bytes FF in a string", c)
			}
		}
	}
}

// run returns b up to the end of a run of fill bytes after which a stuffing byte must follow.
func (d *Decoder) run(b []byte) []byte {
	for i, c := range b {
		if c != fill {
			d.fills = 0
		} else if d.fills++; d.fills == stuffRun {
			return b[:i+1]
		}
	}
	return b
}

// definition reads an element that defines a token, from the byte behind token 0 on.
func (d *Decoder) definition() {
	c := d.byte()
	indexed := c == codeClear && d.why == nil
	if indexed {
		d.depth, d.row = 0, 0
		if number := d.number(d.byte(), placeSource, 0); number != 0 {
			source := d.tokens.get(number)
			if source == nil {
				d.fail(receivers.State, "source token %d is not defined", number)
			}
			t := d.define(d.number(d.byte(), placeNew, number), source, true)
			d.value(d.byte(), t, true)
			return
		}
		c = d.byte()
	}
	d.declaration(c)
	c = d.byte()
	if nameByte(c) && uint64(c) != d.highest+1 {
		d.peek(c, indexed)
		return
	}
	d.declared()
	t := d.define(d.number(c, placeNew, 0), nil, indexed)
	d.value(d.byte(), t, true)
}

// declaration reads a declaration into d.text; c is its first byte. Some senders do not count the
// type, so the length may be one too small.
func (d *Decoder) declaration(c byte) {
	n := d.number(c, placeDeclare, 0)
	switch {
	case n < MinName:
		d.fail(receivers.Malformed, "declaration of %d bytes", n)
	case n > MaxName+1:
		d.fail(receivers.Limit, "declaration of %d bytes", n)
	}
	d.text = d.text[:0]
	d.string(int(n), func(b []byte) {
		d.text = append(d.text, b...)
		if t := Type(d.text[0]); t != Unsigned && t != String {
			d.fail(receivers.Unsupported, "type %q", string(t))
		}
	})
}

// declared checks the length of a complete declaration.
func (d *Decoder) declared() {
	switch n := len(d.text) - 1; {
	case n < MinName:
		d.fail(receivers.Malformed, "declaration of %d bytes", n+1)
	case n > MaxName:
		d.fail(receivers.Limit, "declaration of %d bytes", n+1)
	}
}

// peek reads the number after the byte that follows a declaration. If it is the number of the new
// token, the byte belongs to the declaration; otherwise the byte was the number of the new token,
// and the declaration was as long as it said.
func (d *Decoder) peek(saved byte, indexed bool) {
	c := d.byte()
	var x numeral
	if c < codeAppend {
		x = d.read(c, placePeek)
		if !x.over && x.sign != leadMinus && x.n == d.highest+1 {
			d.text = append(d.text, saved)
			d.declared()
			t := d.define(x.n, nil, indexed)
			d.value(d.byte(), t, true)
			return
		}
	}
	d.declared()
	t := d.define(uint64(saved), nil, indexed)
	if c >= codeAppend { // not a number
		d.value(c, t, true)
		return
	}
	d.take(x, t, true)
}

// define makes the token n: a copy of source, or what d.text declares if source is nil.
func (d *Decoder) define(n uint64, source *Token, indexed bool) *Token {
	switch {
	case n == 0:
		d.fail(receivers.Malformed, "token 0 defined")
	case n > MaxToken:
		d.fail(receivers.Limit, "token %d", n)
	case d.tokens.get(n) != nil:
		d.fail(receivers.State, "token %d is defined already", n)
	}
	if d.why != nil {
		return nil
	}
	t := &Token{Number: uint16(n)}
	own, cost := 0, tokenCost
	if indexed {
		own = d.depth
	}
	if source != nil {
		own = max(own, len(source.Index))
		t.Type, t.Name = source.Type, source.Name
	} else {
		t.Type, t.Name = Type(d.text[0]), string(d.text[1:])
		cost += len(d.text)
	}
	if d.tokens.newPage(n) {
		cost += pageCost
	}
	d.charge(cost + 8*own)
	if own > 0 {
		t.Index = make([]uint64, own)
		copy(t.Index, d.current[:d.depth])
		if source != nil {
			copy(t.Index, source.Index)
		}
	}
	d.tokens.put(t)
	d.highest = max(d.highest, n)
	return t
}

// charge counts n more bytes of state.
func (d *Decoder) charge(n int) {
	most := d.State
	if most <= 0 {
		most = DefaultState
	}
	if d.size += n; d.size > most {
		d.fail(receivers.Limit, "names and texts of more than %d bytes", most)
	}
}

// A Token is a name that a stream has given a number.
type Token struct {
	Name   string   // as sent, without the type; any bytes
	Index  []uint64 // the own indexes of an indexed token
	Type   Type
	Number uint16 // its number in the stream

	changes uint32 // how often text has changed
	last    uint64 // the last value, to which the next is relative
	text    []byte // the current text of a string token
}

const (
	pageBits   = 5
	pageTokens = 1 << pageBits
)

// How many bytes a token and a page count in a decoder's state, with what the allocator rounds up.
const (
	tokenCost = 96 + 16
	pageCost  = 8 * pageTokens
)

// tokens are the tokens of a stream by their numbers. The numbers need not be dense: a page is made
// when it is needed. A page takes no more memory than a small multiple of the bytes that define a
// token in it.
type tokens struct {
	pages []*[pageTokens]*Token
}

func (ts *tokens) get(n uint64) *Token {
	if p := n >> pageBits; p < uint64(len(ts.pages)) && ts.pages[p] != nil {
		return ts.pages[p][n&(pageTokens-1)]
	}
	return nil
}

// newPage reports whether a token with the number n needs a new page.
func (ts *tokens) newPage(n uint64) bool {
	p := n >> pageBits
	return p >= uint64(len(ts.pages)) || ts.pages[p] == nil
}

func (ts *tokens) put(t *Token) {
	p := int(t.Number >> pageBits)
	for p >= len(ts.pages) {
		ts.pages = append(ts.pages, nil) // at most 2048
	}
	if ts.pages[p] == nil {
		ts.pages[p] = new([pageTokens]*Token)
	}
	ts.pages[p][t.Number&(pageTokens-1)] = t
}

func (ts *tokens) clear() {
	clear(ts.pages)
	ts.pages = ts.pages[:0]
}
