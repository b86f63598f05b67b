package gmetric

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Decode reads the message in packet into m, and ignores bytes that follow it. The slices of m
// point into packet, which Decode does not change, except for Extra, whose memory the next Decode
// uses again. Errors are of type *receivers.Error; after an error the fields of m mean nothing.
func (m *Message) Decode(packet []byte) error {
	*m = Message{Extra: m.Extra[:0]}
	r := reader{b: packet}
	m.Word = Word(r.uint32())
	switch {
	case r.err != nil:
	case m.Word == WordGmetric:
		m.gmetric(&r)
	case m.Word.Core():
		m.core(&r)
	case m.Word == WordMetadata:
		m.identity(&r)
		m.metadata(&r)
	case m.Word.Value():
		m.identity(&r)
		m.Format = r.string("format")
		m.value(&r, m.Word)
	case m.Word == WordRequest:
		m.identity(&r)
	default:
		r.fail(receivers.Unsupported, 0, "message %d", uint32(m.Word))
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

// gmetric reads what follows the word of a 3.0 message.
func (m *Message) gmetric(r *reader) {
	m.Type = r.string("type")
	m.Name = r.name()
	m.Text = r.string("value")
	start := r.off
	m.Units = r.string("units")
	m.Slope = r.slope()
	m.TMax, m.DMax = r.uint32(), r.uint32()
	m.described = r.since(start)
}

func (m *Message) core(r *reader) {
	c, texts := &coreMetrics[m.Word], &coreTexts[m.Word]
	m.Name, m.Type, m.Units = texts.name, texts.typ, texts.units
	m.Slope, m.TMax = coreSlope(m.Word), c.tmax
	m.value(r, c.wire)
}

// identity reads the fields that every message of 3.1 and later begins with.
func (m *Message) identity(r *reader) {
	at := r.off
	m.Host = r.string("host")
	m.Name = r.name()
	m.Spoof = r.bool()
	m.HostName = m.Host
	if !m.Spoof {
		return
	}
	var ok bool
	if m.IP, m.HostName, ok = bytes.Cut(m.Host, []byte{':'}); !ok || len(m.HostName) == 0 {
		r.fail(receivers.Malformed, at, "spoofed host %.64q is not an address, a colon and a name", m.Host)
	}
}

// minPair is the size of a pair of empty strings.
const minPair = 8

func (m *Message) metadata(r *reader) {
	start := r.off - 4 // Spoof is part of the metadata
	m.Type = r.string("type")
	m.Name2 = r.string("second name")
	m.Units = r.string("units")
	m.Slope = r.slope()
	m.TMax, m.DMax = r.uint32(), r.uint32()
	n := r.uint32()
	if left := len(r.b) - r.off; r.err == nil && uint64(n) > uint64(left/minPair) {
		r.fail(receivers.Truncated, r.off-4, "%d extra elements, %d bytes are left", n, left)
	}
	if r.err == nil && uint32(cap(m.Extra)) < n {
		m.Extra = make([]Pair, 0, n)
	}
	for ; n > 0 && r.err == nil; n-- {
		m.Extra = append(m.Extra, Pair{r.string("key"), r.string("element")})
	}
	m.described = r.since(start)
}

// value reads a value in the encoding of message w.
func (m *Message) value(r *reader, w Word) {
	switch w {
	case WordUshort:
		m.Number = rra.Uint(uint64(uint16(r.uint32())))
	case WordShort:
		m.Number = rra.Int(int64(int16(r.uint32())))
	case WordInt:
		m.Number = rra.Int(int64(int32(r.uint32())))
	case WordUint:
		m.Number = rra.Uint(uint64(r.uint32()))
	case WordString:
		m.Text = r.string("value")
	case WordFloat:
		m.Number = rra.Float(float64(math.Float32frombits(r.uint32())))
	case WordDouble:
		m.Number = rra.Value{Bits: r.uint64(), Tag: rra.TagFloat}
	}
}

// A reader reads XDR (RFC 4506). After the first error everything it reads is zero.
type reader struct {
	b   []byte
	off int
	err *receivers.Error
}

func (r *reader) fail(reason receivers.Reason, off int, format string, args ...any) {
	if r.err == nil {
		r.err = &receivers.Error{Reason: reason, Offset: off, What: fmt.Sprintf(format, args...)}
	}
}

// since returns the bytes that were read from offset start on.
func (r *reader) since(start int) []byte {
	if r.err != nil {
		return nil
	}
	return r.b[start:r.off]
}

func (r *reader) uint32() uint32 {
	if r.err != nil {
		return 0
	}
	if len(r.b)-r.off < 4 {
		r.fail(receivers.Truncated, r.off, "%d bytes where 4 are needed", len(r.b)-r.off)
		return 0
	}
	x := binary.BigEndian.Uint32(r.b[r.off:])
	r.off += 4
	return x
}

func (r *reader) uint64() uint64 {
	hi := r.uint32()
	lo := r.uint32()
	return uint64(hi)<<32 | uint64(lo)
}

func (r *reader) bool() bool {
	x := r.uint32()
	if x > 1 {
		r.fail(receivers.Malformed, r.off-4, "%d is not true or false", x)
	}
	return x == 1
}

func (r *reader) slope() Slope {
	x := r.uint32()
	if x > uint32(Derivative) {
		r.fail(receivers.Malformed, r.off-4, "slope %d", x)
	}
	return Slope(x)
}

func (r *reader) string(what string) []byte {
	n := r.uint32()
	if r.err != nil {
		return nil
	}
	left := len(r.b) - r.off
	switch padded := (uint64(n) + 3) &^ 3; {
	case uint64(n) > uint64(left):
		r.fail(receivers.Truncated, r.off-4, "%s of %d bytes, %d are left", what, n, left)
	case n > maxString:
		r.fail(receivers.Limit, r.off-4, "%s of %d bytes, %d is the most", what, n, maxString)
	case padded > uint64(left):
		r.fail(receivers.Truncated, r.off-4, "padding of a %s of %d bytes is missing", what, n)
	default:
		s := r.b[r.off:][:n:n]
		r.off += int(padded)
		return s
	}
	return nil
}

func (r *reader) name() []byte {
	at := r.off
	s := r.string("name")
	if r.err == nil && len(s) == 0 {
		r.fail(receivers.Malformed, at, "the metric has no name")
	}
	return s
}
