package smon

import (
	"math/big"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/receivers"
)

// A model is a second decoder, written for nothing but to be read beside the page: it has the whole
// stream at hand, goes back where it must, and leaves an element by panic.
type model struct {
	b     []byte
	at    int
	fills int
	h     Handler

	tokens   map[uint64]*Token
	previous uint64
	current  []uint64
	row      int
}

// What a model panics with.
type (
	ended   struct{}                   // the stream ends inside an element
	broken  struct{ *receivers.Error } // the element is wrong
	silence struct{}                   // a row of 17 fill bytes
)

func wrong(r receivers.Reason) { panic(broken{&receivers.Error{Reason: r}}) }

// decodeModel decodes b and returns how many bytes of an element are pending, and whether the
// stream is valid.
func decodeModel(b []byte, h Handler) (pending int, valid bool) {
	m := &model{b: b, h: h, tokens: make(map[uint64]*Token)}
	for {
		start := m.at
		switch p := m.element().(type) {
		case nil:
			continue
		case ended:
			return m.at - start, true
		case broken:
			p.Offset = start
			h.Invalid(p.Error)
		}
		if !m.reset() {
			return 0, false
		}
		*m = model{b: b, at: m.at, h: h, tokens: make(map[uint64]*Token)}
		h.Reset()
	}
}

func (m *model) reset() bool {
	for m.at < len(m.b) {
		c := m.b[m.at]
		m.at++
		switch {
		case c == 0xff:
			m.fills++
		case c == 0xfe && m.fills >= 17:
			return true
		default:
			m.fills = 0
		}
	}
	return false
}

func (m *model) next() byte {
	if m.at == len(m.b) {
		panic(ended{})
	}
	c := m.b[m.at]
	m.at++
	if c != 0xff {
		m.fills = 0
	} else if m.fills++; m.fills == 17 {
		panic(silence{})
	}
	return c
}

// element reads one element and returns what kept it from being one.
func (m *model) element() (failure any) {
	defer func() { failure = recover() }()
	m.codes()
	n := m.number(m.previous, false)
	if n != 0 {
		t := m.tokens[n]
		if t == nil {
			wrong(receivers.State)
		}
		m.codes()
		m.value(t, false)
		return nil
	}
	indexed := m.peek() == 0xfd
	var source *Token
	t := new(Token)
	if indexed {
		m.next()
		m.current, m.row = nil, 0
		m.codes()
		if n := m.number(0, false); n != 0 {
			if source = m.tokens[n]; source == nil {
				wrong(receivers.State)
			}
			t.Type, t.Name, t.Number = source.Type, source.Name, source.Number
		}
	}
	if source == nil {
		m.declaration(t)
	}
	m.codes()
	n = m.number(uint64(t.Number), false)
	switch {
	case n == 0:
		wrong(receivers.Malformed)
	case n >= 65536:
		wrong(receivers.Limit)
	case m.tokens[n] != nil:
		wrong(receivers.State)
	}
	t.Number = uint16(n)
	if indexed {
		t.Index = slices.Clone(m.current)
		if source != nil {
			t.Index = overlay(source.Index, m.current)
		}
	}
	m.tokens[n] = t
	m.codes()
	m.value(t, true)
	return nil
}

// overlay returns own, followed by what of current comes after that position.
func overlay(own, current []uint64) []uint64 {
	return append(slices.Clone(own), current[min(len(own), len(current)):]...)
}

// peek returns the next byte, which is not read.
func (m *model) peek() byte {
	if m.at == len(m.b) {
		panic(ended{})
	}
	return m.b[m.at]
}

// codes reads index codes.
func (m *model) codes() {
	for {
		c := m.peek()
		if c < 0xfa || c > 0xfd {
			return
		}
		m.next()
		depth := len(m.current)
		at := depth - 1
		switch c {
		case 0xfa:
			if depth == 8 {
				wrong(receivers.Limit)
			}
			m.row = 0
			n := m.number(0, false)
			m.current = append(m.current, n)
			continue
		case 0xfb:
			m.row = 0
		case 0xfc:
			m.row++
			at = depth - 1 - m.row
		case 0xfd:
			m.current, m.row = nil, 0
			continue
		}
		if at < 0 {
			wrong(receivers.State)
		}
		m.current[at] = m.number(0, false)
	}
}

// number reads a number relative to base. Of a string's length a negative lead is wrong.
func (m *model) number(base uint64, length bool) uint64 {
	c := int(m.next())
	v := new(big.Int).SetUint64(base)
	n := func(k int) *big.Int {
		var b []byte
		for range k {
			b = append(b, m.next())
		}
		return new(big.Int).SetBytes(b)
	}
	switch {
	case c <= 0xdf:
		v.Add(v, big.NewInt(int64(c)))
	case c <= 0xe7:
		v.Add(v, big.NewInt(224))
		v.Add(v, n(c-0xdf))
	case c <= 0xef && length:
		wrong(receivers.Malformed)
	case c <= 0xef:
		v.Sub(v, n(c-0xe7))
	case c <= 0xf7:
		v = n(c - 0xef)
	case c <= 0xf9:
		if v = n([...]int{12, 16}[c-0xf8]); !v.IsUint64() {
			wrong(receivers.Unsupported)
		}
	default:
		wrong(receivers.Malformed)
	}
	if !v.IsUint64() {
		wrong(receivers.Malformed)
	}
	return v.Uint64()
}

// payload reads n bytes of a string.
func (m *model) payload(n int) []byte {
	m.fills = 0
	var s []byte
	for range n {
		s = append(s, m.next())
		if m.fills == 16 && m.next() != 0xfe {
			wrong(receivers.Malformed)
		}
	}
	return s
}

// declaration reads a declaration, whose length may not count the type.
func (m *model) declaration(t *Token) {
	n := m.number(0, true)
	switch {
	case n < 3:
		wrong(receivers.Malformed)
	case n > 256:
		wrong(receivers.Limit)
	}
	if c := m.peek(); c != 'u' && c != 's' { // it is looked at when it comes
		m.fills = 0
		m.next()
		wrong(receivers.Unsupported)
	}
	t.Type = Type(m.peek())
	s := m.payload(int(n))
	if m.longer() {
		s = append(s, m.next())
	}
	switch {
	case len(s) < 4:
		wrong(receivers.Malformed)
	case len(s) > 256:
		wrong(receivers.Limit)
	}
	t.Name = string(s[1:])
}

// longer reports whether the byte at hand belongs to the declaration before it.
func (m *model) longer() (yes bool) {
	highest := uint64(0)
	for n := range m.tokens {
		highest = max(highest, n)
	}
	c := m.peek()
	if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/", rune(c)) || uint64(c) == highest+1 {
		return false
	}
	at, fills := m.at, m.fills
	defer func() {
		p := recover()
		if _, no := p.(broken); p != nil && !no {
			panic(p)
		}
		m.at, m.fills = at, fills
	}()
	m.next()
	return m.number(0, false) == highest+1
}

// value reads a token's value and hands the element over.
func (m *model) value(t *Token, defined bool) {
	declare := func() {
		if defined {
			m.h.Declare(t)
		}
	}
	if t.Type == Unsigned {
		t.last = m.number(t.last, false)
		declare()
		m.h.Unsigned(t, overlay(t.Index, m.current), t.last)
	} else {
		lead := m.peek()
		n := m.number(0, true)
		if lead >= 0xf0 {
			t.text = nil
		}
		if n > 65536 || uint64(len(t.text))+n > 65536 {
			wrong(receivers.Limit)
		}
		if n > 0 {
			t.text = append(t.text, m.payload(int(n))...)
		}
		declare()
		m.h.String(t, overlay(t.Index, m.current), t.text)
	}
	m.previous, m.row = uint64(t.Number), 0
}
