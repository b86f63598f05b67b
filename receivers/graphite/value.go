package graphite

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rondo-db/rondo/receivers"
)

// MaxPickle is the size of the largest pickle in bytes, as in carbon.
const MaxPickle = 1 << 20

// An Unpickler reads pickles of lists of points, [(NAME, (TIME, VALUE)), …], as the protocols 0 to
// 5 of Python's pickle write them. It knows lists, tuples, texts, numbers, True, False and None.
// Instructions that make other things, or call something, are refused as Unsupported.
//
// A pickle of n bytes takes no more than 128·n bytes of memory: each instruction makes one value
// at most, and nothing is copied when a value is used twice. The zero value is ready.
type Unpickler struct {
	in    []byte
	at    int
	stack []value
	marks []uint32 // where in the stack the open lists and tuples begin
	memo  []value
	items []value   // of all tuples
	lists [][]value // items of lists
	text  []byte    // texts that are not in the pickle as they are
}

// A value is a Python object on the stack.
type value struct {
	kind kind
	size uint32 // bytes of a text, items of a tuple
	n    uint64 // an integer, the bits of a float, or where text, items or list are
}

type kind uint8

const (
	kindNone  kind = iota // None, or nothing
	kindInt               // n is an int64
	kindFloat             // n is the bits
	kindText              // n is where it begins in the pickle
	kindOwn               // a text; n is where it begins in Unpickler.text
	kindTuple             // n is where it begins in items
	kindList              // n is its number in lists
)

// keptItems is how much of its memory an Unpickler keeps from one pickle to the next.
const keptItems = 1 << 16

func (u *Unpickler) reset(pickle []byte) {
	if cap(u.items)+cap(u.memo)+cap(u.stack)+cap(u.lists) > keptItems {
		*u = Unpickler{}
	}
	clear(u.lists)
	*u = Unpickler{
		in: pickle, stack: u.stack[:0], marks: u.marks[:0], memo: u.memo[:0], items: u.items[:0], lists: u.lists[:0], text: u.text[:0],
	}
}

func (u *Unpickler) fault(r receivers.Reason, format string, args ...any) *receivers.Error {
	return &receivers.Error{Reason: r, Offset: u.at, What: fmt.Sprintf(format, args...)}
}

var (
	errEnd   = &receivers.Error{Reason: receivers.Truncated, What: "the pickle ends too early"}
	errStack = &receivers.Error{Reason: receivers.Malformed, What: "an instruction of the pickle finds nothing to work on"}
)

func (u *Unpickler) push(v value) { u.stack = append(u.stack, v) }

// pushed pushes v, unless err says that there is none.
func (u *Unpickler) pushed(v value, err *receivers.Error) *receivers.Error {
	if err == nil {
		u.push(v)
	}
	return err
}

// bottom is how much of the stack belongs to open lists and tuples further out.
func (u *Unpickler) bottom() int {
	if n := len(u.marks); n > 0 {
		return int(u.marks[n-1])
	}
	return 0
}

// peek returns the top of the stack.
func (u *Unpickler) peek() (value, *receivers.Error) {
	n := len(u.stack)
	if n <= u.bottom() {
		return value{}, errStack
	}
	return u.stack[n-1], nil
}

// line takes the rest of a line of the pickle.
func (u *Unpickler) line() ([]byte, *receivers.Error) {
	n := bytes.IndexByte(u.in[u.at:], '\n')
	if n < 0 {
		return nil, errEnd
	}
	line := u.in[u.at:][:n]
	u.at += n + 1
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

func (v value) isText() bool { return v.kind == kindText || v.kind == kindOwn }

func (u *Unpickler) textOf(v value) []byte {
	if v.kind == kindOwn {
		return u.text[v.n:][:v.size]
	}
	return u.in[v.n:][:v.size]
}

// of returns the items of a tuple or a list; nil: v is neither.
func (u *Unpickler) of(v value) []value {
	switch v.kind {
	case kindTuple:
		return u.items[v.n:][:v.size]
	case kindList:
		return u.lists[v.n]
	}
	return nil
}

// take returns the next n bytes of the pickle.
func (u *Unpickler) take(n uint64) ([]byte, *receivers.Error) {
	if n > uint64(len(u.in)-u.at) {
		return nil, errEnd
	}
	b := u.in[u.at:][:n]
	u.at += int(n)
	return b, nil
}

// uint takes an unsigned number of n bytes.
func (u *Unpickler) uint(n uint64) (uint64, *receivers.Error) {
	b, err := u.take(n)
	if err != nil {
		return 0, err
	}
	var all [8]byte
	copy(all[:], b)
	return binary.LittleEndian.Uint64(all[:]), nil
}
