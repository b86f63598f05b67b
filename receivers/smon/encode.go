package smon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Errors of an Encoder. After one of them the stream is as it was.
var (
	ErrName   = fmt.Errorf("smon: a name has %d to %d bytes", MinName, MaxName)
	ErrDepth  = fmt.Errorf("smon: a value has at most %d indexes", MaxDepth)
	ErrText   = fmt.Errorf("smon: a text has at most %d bytes", MaxText)
	ErrTokens = errors.New("smon: the stream has no number left for one more name: Reset it")
)

// resetFills is how many fill bytes a reset begins with. resetRun of them are enough, unless the
// reader has lost its place: then it may take two for the length of a string (FF FF is the most
// that a length may end with), after which it counts anew.
const resetFills = resetRun + 2

// An Encoder makes a stream of values, a compact one: each number is written as a difference or as
// itself, whichever is shorter, and a text that goes on is continued. A name that has values at
// several indexes gets a token of its own for each index, once that has been used twice, so that
// differences are between values of one series and the index need not be said any more.
//
// The zero value is ready. It remembers names and texts, as the reader does, who may keep less of
// them: see Decoder.State.
type Encoder struct {
	out      []byte
	tokens   uint64 // defined, from 1 without gaps
	previous uint64 // number of the token of the last element
	current  []uint64
	names    map[string]*sent // by type and name
	places   map[string]*sent // by type, name and index; nil: used once
	key      []byte
}

// sent is what the reader knows of a token.
type sent struct {
	number uint64
	index  []uint64 // its own
	last   uint64
	text   []byte
}

// Bytes returns what has been encoded since the last Clear.
func (e *Encoder) Bytes() []byte { return e.out }

// Clear forgets the bytes, which have been sent, and nothing else.
func (e *Encoder) Clear() { e.out = e.out[:0] }

// Reset writes a reset, after which the reader starts anew whatever it has got before, and forgets
// all names.
func (e *Encoder) Reset() {
	for range resetFills {
		e.out = append(e.out, fill)
	}
	*e = Encoder{out: append(e.out, stuffing)}
}

// Unsigned writes a value of the token name at an index.
func (e *Encoder) Unsigned(name string, index []uint64, v uint64) error {
	t, err := e.begin(Unsigned, name, index)
	if err != nil {
		return err
	}
	e.out = appendNumber(e.out, t.last, v)
	t.last = v
	return nil
}

// String writes a text of the token name at an index.
func (e *Encoder) String(name string, index []uint64, text []byte) error {
	if len(text) > MaxText {
		return ErrText
	}
	t, err := e.begin(String, name, index)
	if err != nil {
		return err
	}
	if rest, ok := bytes.CutPrefix(text, t.text); ok {
		e.out = appendString(e.out, rest, false)
	} else {
		e.out = appendString(e.out, text, true)
	}
	t.text = append(t.text[:0], text...)
	return nil
}

// begin writes all of an element but its value, and returns the token.
func (e *Encoder) begin(typ Type, name string, index []uint64) (*sent, error) {
	switch {
	case len(name) < MinName || len(name) > MaxName:
		return nil, ErrName
	case len(index) > MaxDepth:
		return nil, ErrDepth
	}
	e.key = append(append(e.key[:0], byte(typ), byte(len(name))), name...)
	plain := e.names[string(e.key)]
	if plain == nil {
		return e.declare(typ, name, index)
	}
	if len(index) == 0 {
		return e.use(plain, index), nil
	}
	e.appendIndex(index)
	t, used := e.places[string(e.key)]
	switch {
	case t != nil:
		return e.use(t, index), nil
	case used && e.tokens < MaxToken:
		return e.split(plain, index), nil
	}
	e.place(nil)
	return e.use(plain, index), nil
}

// appendIndex makes the key of a name one of a name and index.
func (e *Encoder) appendIndex(index []uint64) {
	for _, n := range index {
		e.key = binary.LittleEndian.AppendUint64(e.key, n)
	}
}

// place remembers the token, nil if it is only the name's, of a name and index whose key is e.key.
func (e *Encoder) place(t *sent) {
	if e.places == nil {
		e.places = make(map[string]*sent)
	}
	if _, known := e.places[string(e.key)]; known || len(e.places) < MaxToken { // others never get one
		e.places[string(e.key)] = t
	}
}

// use writes the number of a token that is there.
func (e *Encoder) use(t *sent, index []uint64) *sent {
	if len(t.index) == 0 {
		e.move(index)
	} else if len(e.current) > len(t.index) { // what is deeper would show
		e.move(nil)
	}
	e.number(t.number)
	return t
}

func (e *Encoder) number(n uint64) {
	e.out = appendNumber(e.out, e.previous, n)
	e.previous = n
}

// declare defines the token of a name whose key is e.key.
func (e *Encoder) declare(typ Type, name string, index []uint64) (*sent, error) {
	if e.tokens == MaxToken {
		return nil, ErrTokens
	}
	if e.names == nil {
		e.names = make(map[string]*sent)
	}
	e.move(index)
	e.number(0)
	e.out = appendString(e.out, string(rune(typ))+name, false)
	t := e.newToken()
	e.out = appendNumber(e.out, 0, t.number)
	e.names[string(e.key)] = t
	if len(index) > 0 {
		e.appendIndex(index)
		e.place(nil)
	}
	return t, nil
}

// split defines a copy of plain that has the index as its own. e.key is the key of both.
func (e *Encoder) split(plain *sent, index []uint64) *sent {
	e.number(0)
	e.out = append(e.out, codeClear)
	e.current = e.current[:0]
	e.move(index)
	e.out = appendNumber(e.out, 0, plain.number)
	t := e.newToken()
	t.index = slices.Clone(index)
	e.out = appendNumber(e.out, plain.number, t.number)
	e.place(t)
	return t
}

func (e *Encoder) newToken() *sent {
	e.tokens++
	e.previous = e.tokens
	return &sent{number: e.tokens}
}

// move writes the index codes that make index the current one.
func (e *Encoder) move(index []uint64) {
	if n := len(e.current); n > len(index) || !slices.Equal(e.current, index[:n]) {
		e.out = append(e.out, codeClear)
		e.current = e.current[:0]
	}
	for _, x := range index[len(e.current):] {
		e.out = appendNumber(append(e.out, codeAppend), 0, x)
	}
	e.current = append(e.current[:0], index...)
}
