package smon

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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

// readBytes is how many bytes are read at once.
const readBytes = 8 << 10

// A Decoder decodes one stream. The zero value is ready.
//
// A Decoder keeps names, texts and numbers of tokens, and at most one unfinished element. If these
// take more than State, the stream is invalid (limit).
type Decoder struct {
	// State is how many bytes the stream may make the decoder keep; 0: DefaultState.
	State int

	in  io.Reader // during Decode, as is h
	h   Handler
	buf []byte // bytes that were read
	pos int    // how many of them were taken
	at  int64  // offset of the first of them
	err error  // came with them

	start   int64 // offset of the element that is being read
	why     error // why it is not read on; what it has yet to read is zero then
	fills   int   // fill bytes in a row
	invalid bool  // the stream is skipped up to a reset
	skips   int64 // bytes skipped since then
	clean   bool  // the stream became invalid between elements, and only fill bytes have followed

	tokens   tokens
	size     int    // bytes that tokens take
	previous uint64 // number of the token of the last element
	highest  uint64 // highest number of a token
	text     []byte // the declaration of a token

	current [MaxDepth]uint64 // the current index
	depth   int              // length of current
	row     int              // number of codeBefore in a row
	whole   [MaxDepth]uint64 // memory for an effective index
}

// errInvalid says that so many fill bytes have come that a reset must follow.
var errInvalid = errors.New("smon: fill bytes in an element")

// Decode reads in to its end, and hands over what it holds to h. It returns the error of in, such
// as io.EOF. If that is a *receivers.Error, the stream is invalid because of it, and Decode reads
// on. The next Decode continues the stream if no element is Pending.
func (d *Decoder) Decode(in io.Reader, h Handler) error {
	d.in, d.h = in, h
	for {
		d.why = nil
		if d.invalid {
			d.skip()
		} else {
			d.element()
		}
		if wrong, ok := d.why.(*receivers.Error); ok {
			d.clean = d.fills > 0 && d.offset() == d.start+1
			wrong.Offset = int(d.start)
			d.invalidate()
			h.Invalid(wrong)
		} else if d.why == errInvalid {
			d.invalidate()
		} else if d.why != nil {
			return d.why
		}
	}
}

func (d *Decoder) offset() int64 { return d.at + int64(d.pos) }

// more returns the bytes that were read and not taken. There are some unless the element ends.
func (d *Decoder) more() []byte {
	if d.buf == nil {
		d.buf = make([]byte, 0, readBytes)
	}
	for d.pos == len(d.buf) && d.why == nil {
		d.at, d.pos, d.buf = d.offset(), 0, d.buf[:0]
		if d.why, d.err = d.err, nil; d.why == nil {
			var n int
			n, d.err = d.in.Read(d.buf[:cap(d.buf)])
			d.buf = d.buf[:n]
		}
	}
	return d.buf[d.pos:]
}

// byte reads a byte that is not in a string.
func (d *Decoder) byte() byte {
	b := d.more()
	if d.why != nil {
		return 0
	}
	d.pos++
	if b[0] != fill {
		d.fills = 0
	} else if d.fills++; d.fills == resetRun {
		d.why = errInvalid
	}
	return b[0]
}

// invalidate begins to skip bytes, and forgets tokens and indexes.
func (d *Decoder) invalidate() {
	d.invalid, d.skips = true, 0
	d.tokens.clear()
	d.previous, d.highest, d.size, d.depth = 0, 0, 0, 0
}

// skip skips bytes up to a reset.
func (d *Decoder) skip() {
	for b := d.more(); len(b) > 0; b = d.more() {
		n := 1
		switch c := b[0]; {
		case c == fill:
			d.fills++
		case c == stuffing && d.fills >= resetRun:
			d.pos++
			d.invalid, d.fills, d.skips = false, 0, 0
			d.h.Reset()
			return
		default:
			d.fills, d.clean = 0, false
			if n = bytes.IndexByte(b, fill); n < 0 {
				n = len(b)
			}
		}
		d.pos += n
		d.skips += int64(n)
	}
}

// Pending returns how many bytes of an unfinished element have been read.
func (d *Decoder) Pending() int64 {
	if d.invalid {
		return 0
	}
	return d.offset() - d.start
}

// Skipped reports whether the stream is invalid, and how many bytes have been skipped since it
// became so.
func (d *Decoder) Skipped() (n int64, invalid bool) { return d.skips, d.invalid }

// Size returns how many bytes of State are in use.
func (d *Decoder) Size() int { return d.size }

// fail ends the element. The first reason stays.
func (d *Decoder) fail(r receivers.Reason, format string, args ...any) {
	if d.why == nil {
		d.why = &receivers.Error{Reason: r, What: fmt.Sprintf(format, args...)}
	}
}
