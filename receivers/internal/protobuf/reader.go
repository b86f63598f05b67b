// Package protobuf reads messages field by field, without reflection and without allocating.
package protobuf

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers"
)

// A Reader reads the fields of one message, each at most once. After an error Next returns false,
// and what the other methods return means nothing. Err returns the error, a *receivers.Error or
// what Fail was given.
//
// The arguments named what say what is being read, for errors.
type Reader struct {
	B      []byte // the message
	At     int    // the next byte
	Off    int    // where B begins in the input, for errors
	Start  int    // where the field at hand begins
	Number int    // of the field at hand
	Kind   protowire.Type

	unread bool // the content of the field at hand has not been read
	err    error
}

// Next reads the tag of the next field, and passes over the content of the field at hand if nobody
// has read it. It returns false at the end of the message.
func (r *Reader) Next() bool {
	if r.unread {
		r.skip()
	}
	if r.At == len(r.B) || r.err != nil {
		return false
	}
	r.Start, r.unread = r.At, true
	if c := r.B[r.At]; c < 0x80 && c >= 8 { // one byte
		r.Number, r.Kind = int(c>>3), protowire.Type(c&7)
		r.At++
		return true
	}
	number, kind, n := protowire.ConsumeTag(r.B[r.At:])
	if n < 0 {
		r.malformed("a field has no valid tag")
		return false
	}
	r.Number, r.Kind = int(number), kind
	r.At += n
	return true
}

// Is reports whether the field at hand has a number and a type.
func (r *Reader) Is(number int, kind protowire.Type) bool {
	return r.Number == number && r.Kind == kind
}

// Err returns why the message cannot be read.
func (r *Reader) Err() error { return r.err }

// Fail makes err the error, unless there is one.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *Reader) malformed(what string) {
	r.Fail(&receivers.Error{Reason: receivers.Malformed, Offset: r.Off + r.At, What: what})
}

func (r *Reader) truncated(what string) {
	r.Fail(&receivers.Error{Reason: receivers.Truncated, Offset: r.Off + r.At, What: what + " is cut off"})
}

// Pass passes over n bytes of the content of the field at hand, which are all of it.
func (r *Reader) Pass(n int) {
	r.At += n
	r.unread = false
}

// content begins to read the content of the field at hand. It reports whether the field has a kind.
func (r *Reader) content(kind protowire.Type, what string) bool {
	r.unread = false
	if r.Kind != kind {
		r.malformed(what + " has another type")
	}
	return r.Kind == kind
}

// Bytes reads the content of a field that consists of bytes.
func (r *Reader) Bytes(what string) []byte {
	if !r.content(protowire.BytesType, what) {
		return nil
	}
	n := r.Varint(what)
	if n > uint64(len(r.B)-r.At) {
		r.truncated(what)
		return nil
	}
	r.At += int(n)
	return r.B[r.At-int(n) : r.At : r.At]
}

// Message reads the content of a field that is a message.
func (r *Reader) Message(what string) Reader {
	b := r.Bytes(what)
	return Reader{B: b, Off: r.Off + r.At - len(b)}
}

// Varint reads a number that stands at At.
func (r *Reader) Varint(what string) uint64 {
	if r.At < len(r.B) && r.B[r.At] < 0x80 {
		r.At++
		return uint64(r.B[r.At-1])
	}
	v, n := protowire.ConsumeVarint(r.B[r.At:])
	switch {
	case n >= 0:
		r.At += n
	case len(r.B)-r.At >= binary.MaxVarintLen64:
		r.malformed(what + " is no number of 64 bits")
	default:
		r.truncated(what)
	}
	return v
}

// Uint reads the content of a field that is a varint.
func (r *Reader) Uint(what string) uint64 {
	if !r.content(protowire.VarintType, what) {
		return 0
	}
	return r.Varint(what)
}

// Fixed reads the content of a field of fixed 64 bits.
func (r *Reader) Fixed(what string) uint64 {
	if !r.content(protowire.Fixed64Type, what) {
		return 0
	}
	if len(r.B)-r.At < 8 {
		r.truncated(what)
		return 0
	}
	r.At += 8
	return binary.LittleEndian.Uint64(r.B[r.At-8:])
}

// Double reads the content of a field that is a double.
func (r *Reader) Double(what string) float64 { return math.Float64frombits(r.Fixed(what)) }

// AppendFixed appends the numbers of a repeated field of fixed 64 bits, which may be packed.
func (r *Reader) AppendFixed(dst []uint64, what string) []uint64 {
	if r.Kind == protowire.Fixed64Type {
		return append(dst, r.Fixed(what))
	}
	b := r.Bytes(what)
	for ; len(b) >= 8; b = b[8:] {
		dst = append(dst, binary.LittleEndian.Uint64(b))
	}
	if len(b) > 0 {
		r.truncated(what)
	}
	return dst
}

func (r *Reader) skip() {
	r.unread = false
	n := protowire.ConsumeFieldValue(protowire.Number(r.Number), r.Kind, r.B[r.At:])
	if n < 0 {
		r.malformed("an unknown field cannot be read")
		return
	}
	r.At += n
}
