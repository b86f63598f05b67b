package smon

import (
	"fmt"

	"github.com/rondo-db/rondo/receivers"
)

// A Handler takes the content of a stream, in order. Slices are valid until the method returns.
type Handler interface {
	// Declare takes a token that has been defined; its first value follows.
	Declare(t *Token)
	// Unsigned takes a value and the index it stands at.
	Unsigned(t *Token, index []uint64, v uint64)
	// String takes a text and the index it stands at.
	String(t *Token, index []uint64, text []byte)
	// Invalid says that the stream is invalid: all bytes up to a reset are skipped. It is also
	// called at a reset between two elements, whose first byte is not a valid beginning of an
	// element.
	Invalid(err *receivers.Error)
	// Reset says that the stream begins again, without tokens.
	Reset()
}

// DefaultState is the default of Decoder.State in bytes.
const DefaultState = 16 << 20

// A Decoder reads one stream. It is a pure state machine without clock, input or output. The zero
// value is ready.
//
// A Decoder keeps names, texts and numbers of tokens, and at most one unfinished element. If these
// take more than State, the stream is invalid (limit).
type Decoder struct {
	// State is how many bytes the stream may make the decoder keep; 0: DefaultState.
	State int

	at    int64 // offset of the piece that is being read
	start int64 // offset of the element that is being read
	step  step
	place place // what the number that is being read is for
	fills int   // fill bytes in a row
	skips int64 // bytes skipped since the stream became invalid
	clean bool  // the stream became invalid between elements, and only fill bytes have followed

	// The number that is being read.
	sign byte   // leadPlus, leadMinus or leadEqual
	left int    // bytes that are still to come
	n    uint64 // its value so far
	over bool   // it has more than 64 bits

	tokens   tokens
	size     int    // bytes that tokens take
	previous uint64 // number of the token of the last element
	highest  uint64 // highest number of a token

	current [MaxDepth]uint64 // the current index
	depth   int              // length of current
	row     int              // number of codeBefore in a row
	code    byte             // the index code that is being read
	back    place            // what the number after the index code is for
	whole   [MaxDepth]uint64 // memory for an effective index

	// The element that is being read.
	token   *Token // its token
	defined bool   // the element defines the token
	indexed bool   // the element defines an indexed token
	source  *Token // the token that the indexed token copies; nil: it is no copy
	text    []byte // its declaration
	want    int    // bytes of its string that are still to come
	saved   byte   // the byte after the declaration
}

// A step says what the next byte is.
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
	placeSource        // the token that an indexed token is a copy of
	placeFresh         // the length of an indexed token's declaration
	placeNew           // the number of a new token
	placePeek          // the number of a new token, or its value
	placeIndex         // an index
)

// codes reports whether index codes may precede the number.
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

// Skipped reports whether the stream is invalid, and how many bytes have been skipped since it
// became so.
func (d *Decoder) Skipped() (n int64, invalid bool) { return d.skips, d.step == stepSkip }

// Size returns how many bytes of State are in use.
func (d *Decoder) Size() int { return d.size }

// expect makes the next byte the lead of a number for p.
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
