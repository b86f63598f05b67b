package rrdd

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rondo-db/rondo/receivers"
)

// This file is a JSON parser (RFC 8259) of its own, because encoding/json loses the order of the
// names of an object, which is the order of the values here, accepts a name twice, and refuses NaN
// and Infinity, which Python writes.

// A scalar is a value that is neither an object nor an array. Those are skipped.
type scalar struct {
	kind scalarKind
	text []byte // of a string, without escapes, or of a number
	at   int    // where it begins
}

type scalarKind uint8

const (
	absent scalarKind = iota
	stringScalar
	numberScalar
	trueScalar
	falseScalar
	otherScalar // null, an object, an array
)

// A parser reads one JSON text.
type parser struct {
	text  []byte
	base  int // offset of text in its file
	pos   int
	depth int
	arena []byte // strings without their escapes
}

func (p *parser) reset(text []byte, base int) {
	p.text, p.base, p.pos, p.depth, p.arena = text, base, 0, 0, p.arena[:0]
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &receivers.Error{Reason: receivers.Malformed, Offset: p.base + at, What: fmt.Sprintf(format, args...)}
}

func (p *parser) unexpected(want string) error {
	if p.pos >= len(p.text) {
		return p.fail(p.pos, "JSON ends, want %s", want)
	}
	return p.fail(p.pos, "JSON: %q, want %s", p.text[p.pos], want)
}

// peek returns the next byte that is no blank, or 0.
func (p *parser) peek() byte {
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// open enters an object or array.
func (p *parser) open(c byte) error {
	if p.peek() != c || p.pos >= len(p.text) {
		return p.unexpected(strconv.QuoteRune(rune(c)))
	}
	if p.depth++; p.depth > maxDepth {
		return p.fail(p.pos, "JSON is nested deeper than %d", maxDepth)
	}
	p.pos++
	return nil
}

// next reads the comma before the next element, or the closing byte. It reports whether there is a
// next element.
func (p *parser) next(first bool, closing byte) (bool, error) {
	switch c := p.peek(); {
	case c == closing && p.pos < len(p.text):
		p.pos++
		p.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		p.pos++
		return true, nil
	}
	return false, p.unexpected("',' or " + strconv.QuoteRune(rune(closing)))
}

// name reads the next name of an object and its colon; ok is false at the object's end.
func (p *parser) name(first bool) (name scalar, ok bool, err error) {
	if ok, err = p.next(first, '}'); !ok || err != nil {
		return name, false, err
	}
	if p.peek() != '"' {
		return name, false, p.unexpected("a name")
	}
	if name, err = p.string(); err != nil {
		return name, false, err
	}
	if p.peek() != ':' {
		return name, false, p.unexpected("':'")
	}
	p.pos++
	return name, true, nil
}

// value reads a value of any kind.
func (p *parser) value() (scalar, error) {
	c := p.peek()
	s := scalar{at: p.pos}
	switch {
	case c == '"':
		return p.string()
	case c == '{' || c == '[':
		s.kind = otherScalar
		return s, p.skip(c)
	case c == '-' || c >= '0' && c <= '9' || c == 'N' || c == 'I':
		return p.number()
	}
	for _, w := range [...]struct {
		word string
		kind scalarKind
	}{{"true", trueScalar}, {"false", falseScalar}, {"null", otherScalar}} {
		if p.word(w.word) {
			s.kind = w.kind
			return s, nil
		}
	}
	return s, p.unexpected("a value")
}

func (p *parser) word(w string) bool {
	if len(p.text)-p.pos < len(w) || string(p.text[p.pos:p.pos+len(w)]) != w {
		return false
	}
	p.pos += len(w)
	return true
}

// skip reads over an object or array. It calls itself through value, no deeper than maxDepth.
func (p *parser) skip(c byte) error {
	if err := p.open(c); err != nil {
		return err
	}
	for first := true; ; first = false {
		var ok bool
		var err error
		if c == '{' {
			_, ok, err = p.name(first)
		} else {
			ok, err = p.next(first, ']')
		}
		if !ok || err != nil {
			return err
		}
		if _, err := p.value(); err != nil {
			return err
		}
	}
}

// number reads a number, NaN, Infinity or -Infinity.
func (p *parser) number() (scalar, error) {
	s := scalar{kind: numberScalar, at: p.pos}
	start := p.pos
	if p.word("NaN") || p.word("Infinity") || p.word("-Infinity") {
		s.text = p.text[start:p.pos]
		return s, nil
	}
	p.word("-")
	if !p.word("0") && !p.digits() {
		return s, p.unexpected("a digit")
	}
	if p.word(".") && !p.digits() {
		return s, p.unexpected("a digit")
	}
	if p.word("e") || p.word("E") {
		if !p.word("+") {
			p.word("-")
		}
		if !p.digits() {
			return s, p.unexpected("a digit")
		}
	}
	s.text = p.text[start:p.pos]
	return s, nil
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}

// string reads a string. A string without escapes is a part of p.text, any other one of p.arena.
func (p *parser) string() (scalar, error) {
	s := scalar{kind: stringScalar, at: p.pos}
	p.pos++ // the quote
	start := p.pos
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '"':
			s.text = p.text[start:p.pos]
			p.pos++
			return s, nil
		case c == '\\':
			return p.escaped(s, start)
		case c < 0x20:
			return s, p.fail(p.pos, "JSON: control character %#02x in a string", c)
		}
	}
	return s, p.unexpected(`'"'`)
}

// escaped reads the rest of a string that begins at start and has its first escape at p.pos.
func (p *parser) escaped(s scalar, start int) (scalar, error) {
	from := len(p.arena)
	p.arena = append(p.arena, p.text[start:p.pos]...)
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == '"':
			p.pos++
			s.text = p.arena[from:len(p.arena):len(p.arena)]
			return s, nil
		case c < 0x20:
			return s, p.fail(p.pos, "JSON: control character %#02x in a string", c)
		case c != '\\':
			p.arena = append(p.arena, c)
			p.pos++
			continue
		}
		if err := p.escape(); err != nil {
			return s, err
		}
	}
	return s, p.unexpected(`'"'`)
}

// escape reads one escape into the arena. Half of a surrogate pair becomes U+FFFD.
func (p *parser) escape() error {
	p.pos++ // the backslash
	if p.pos >= len(p.text) {
		return p.unexpected("an escape")
	}
	c := p.text[p.pos]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		p.pos++
		return p.unicode()
	default:
		return p.unexpected("an escape")
	}
	p.arena = append(p.arena, c)
	p.pos++
	return nil
}

// unicode reads the digits of \uXXXX, and of a second one if they make a pair.
func (p *parser) unicode() error {
	r, ok := p.hex()
	if !ok {
		return p.unexpected("four hexadecimal digits")
	}
	if utf16.IsSurrogate(r) {
		after := p.pos
		r2 := rune(-1)
		if p.word(`\u`) {
			if r2, ok = p.hex(); !ok {
				return p.unexpected("four hexadecimal digits")
			}
		}
		if r = utf16.DecodeRune(r, r2); r == utf8.RuneError {
			p.pos = after // the second one stands for itself
		}
	}
	p.arena = utf8.AppendRune(p.arena, r)
	return nil
}

func (p *parser) hex() (r rune, ok bool) {
	var b [2]byte
	if len(p.text)-p.pos < 4 {
		return 0, false
	}
	if _, err := hex.Decode(b[:], p.text[p.pos:p.pos+4]); err != nil {
		return 0, false
	}
	p.pos += 4
	return rune(b[0])<<8 | rune(b[1]), true
}
