package smon

import (
	"bytes"

	"github.com/rondo-db/rondo/receivers"
)

// fail makes the stream invalid.
func (d *Decoder) fail(err *receivers.Error, h Handler) {
	err.Offset = int(d.start)
	d.invalidate()
	h.Invalid(err)
}

// Refuse makes the stream invalid, and forgets its tokens.
func (d *Decoder) Refuse() { d.invalidate() }

func (d *Decoder) invalidate() {
	d.step, d.skips = stepSkip, 0
	d.forget()
}

// forget forgets tokens and indexes.
func (d *Decoder) forget() {
	d.tokens.clear()
	d.token, d.source, d.defined = nil, nil, false
	d.previous, d.highest, d.size, d.depth, d.row = 0, 0, 0, 0, 0
}

// skip looks for a reset, and returns how many bytes of b it has read. at is the offset of b.
func (d *Decoder) skip(b []byte, at int64, h Handler) int {
	for i := 0; i < len(b); i++ {
		if d.fills == 0 {
			d.clean = false
			n := bytes.IndexByte(b[i:], fill)
			if n < 0 {
				d.skips += int64(len(b))
				return len(b)
			}
			i += n
		}
		switch c := b[i]; {
		case c == fill:
			d.fills++
		case c == stuffing && d.fills >= resetRun:
			d.fills, d.skips = 0, 0
			d.start = at + int64(i) + 1
			d.expect(placeToken)
			h.Reset()
			return i + 1
		default:
			d.fills, d.clean = 0, false
		}
	}
	d.skips += int64(len(b))
	return len(b)
}
