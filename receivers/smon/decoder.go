package smon

import (
	"fmt"

	"github.com/rondo-db/rondo/receivers"
)

// A Handler takes what a Decoder finds, in the order of the stream. Slices are the decoder's: they
// change when the method has returned.
type Handler interface {
	// Declare takes a token that has been defined; its first value follows.
	Declare(t *Token)
	// Unsigned takes a value and the index it stands at.
	Unsigned(t *Token, index []uint64, v uint64)
	// String takes a text and the index it stands at.
	String(t *Token, index []uint64, text []byte)
	// Invalid says that the stream makes no sense any more: what comes is skipped until a reset. A
	// reset between two elements is announced by this too: its first byte could begin none.
	Invalid(err *receivers.Error)
	// Reset says that the stream starts anew, without tokens.
	Reset()
}

// DefaultState is how much a stream may make a Decoder keep.
const DefaultState = 16 << 20

// A Decoder reads one stream. It is a pure state machine: no clock, no input or output. The zero
// value is ready.
//
// What it keeps is names, texts and numbers of tokens, and at most one unfinished element. When
// these come to more than State, the stream is invalid (limit).
type Decoder struct {
	// State bounds what the stream makes the decoder keep, in bytes; 0: DefaultState.
	State int

	at    int64 // offset of the piece being read
	start int64 // offset of the element being read
	step  step
	place place // what the number being read is for
	fills int   // fill bytes in a row
	skips int64 // bytes skipped since the stream is invalid
	clean bool  // it became so where an element would begin, and all since is fill bytes

	sign byte   // leadPlus, leadMinus or leadEqual: of the number being read
	left int    // bytes of it that are to come
	n    uint64 // it, so far
	over bool   // it does not go into 64 bits

	tokens   tokens
	size     int    // bytes that these take
	previous uint64 // number of the token of the last element
	highest  uint64 // number of a token

	current [MaxDepth]uint64 // the current index
	depth   int
	row     int              // codeBefore in a row
	code    byte             // the index code being read
	back    place            // what comes after it
	whole   [MaxDepth]uint64 // an effective index

	token   *Token // of the element being read
	defined bool   // by it
	indexed bool   // it defines an indexed token
	source  *Token // which is a copy of this one; nil: of none
	text    []byte // a declaration
	want    int    // bytes of the string being read that are to come
	saved   byte   // the byte after a declaration
}

// A step is what the next byte is.
type step uint8

const (
	stepLead   step = iota // the lead of a number, or an index code
	stepNumber             // in a number
	stepString             // in a string
	stepStuff              // the stuffing byte in a string or at its end
	stepAfter              // the byte after a declaration
	stepPeek               // the one after that
	stepSkip               // the stream is invalid
)

// A place is what a number is for.
type place uint8

const (
	placeToken   place = iota
	placeValue         // of a token of unsigned numbers
	placeText          // the length of a token's string
	placeDeclare       // the length of a declaration; here codeClear makes an indexed definition
	placeSource        // the token that an indexed one is a copy of
	placeFresh         // the length of an indexed token's declaration
	placeNew           // the number of a new token
	placePeek          // either of the new token or its value
	placeIndex
)

// codes reports whether index codes may stand before the number.
func (p place) codes() bool {
	switch p {
	case placeToken, placeValue, placeText, placeSource, placeNew:
		return true
	}
	return false
}

// Pending returns how many bytes of an unfinished element have been read.
func (d *Decoder) Pending() int64 {
	if d.step == stepSkip {
		return 0
	}
	return d.at - d.start
}

// Skipped returns how many bytes have been skipped since the stream became invalid, and whether it
// is.
func (d *Decoder) Skipped() (n int64, invalid bool) { return d.skips, d.step == stepSkip }

// Size returns how many bytes of State are in use.
func (d *Decoder) Size() int { return d.size }

// expect sets what the next number is for.
func (d *Decoder) expect(p place) { d.step, d.place = stepLead, p }

var placeNames = [...]string{
	placeToken: "a token's number", placeValue: "a value", placeText: "a string's length", placeDeclare: "a declaration's length",
	placeSource: "a source's number", placeFresh: "a declaration's length", placeNew: "a new token's number",
	placePeek: "a number", placeIndex: "an index",
}

func (p place) String() string { return placeNames[p] }

func fault(r receivers.Reason, format string, args ...any) *receivers.Error {
	return &receivers.Error{Reason: r, What: fmt.Sprintf(format, args...)}
}

func malformed(format string, args ...any) *receivers.Error {
	return fault(receivers.Malformed, format, args...)
}
