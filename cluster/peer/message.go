package peer

import (
	"encoding/binary"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A message is what connect carries: bytes that a coder has coded, in two pieces.
type message struct{ head, rest []byte }

// A codec is connect's codec of messages.
type codec struct{}

func (codec) Name() string { return "rondo" }

func (codec) Marshal(m any) ([]byte, error) { return codec{}.MarshalAppend(nil, m) }

// MarshalAppend spares connect a copy.
func (codec) MarshalAppend(dst []byte, m any) ([]byte, error) {
	x := m.(*message)
	return append(append(dst, x.head...), x.rest...), nil
}

func (codec) Unmarshal(b []byte, m any) error {
	m.(*message).rest = append([]byte(nil), b...) // the bytes are connect's
	return nil
}

// A target begins a question: what it is for.
type target struct {
	method    string
	partition uint32
	after     wal.Pos     // the answer must hold all records of the log up to here; 0: any
	number    core.Number // of a change; zero: it has none
}

func codeTarget(k *coder, x *target) {
	k.text(&x.method)
	number(k, &x.partition)
	number(k, &x.after)
	fixed(k, &x.number.Session)
	number(k, &x.number.N)
}

// A standing says where a partition stands.
type standing struct {
	position wal.Pos // all records of the log up to it are applied; 0: unknown
	renames  uint64  // of series, since the partition was opened
	instance uint64  // changes when the partition is opened anew; 0: there is no partition
	// A reader who asks for this position sees what the call has written, and what was acknowledged
	// before; 0: unknown.
	acknowledged wal.Pos
}

func codeStanding(k *coder, x *standing) {
	number(k, &x.position)
	number(k, &x.renames)
	fixed(k, &x.instance)
	number(k, &x.acknowledged)
}

// A heading begins a message of an answer. Parts follow it: each is its length in four bytes, and
// what the method codes.
type heading struct {
	standing standing
	ended    bool // it is the last message
	err      error
}

func codeHeading(k *coder, x *heading) {
	codeStanding(k, &x.standing)
	k.flag(&x.ended)
	k.error(&x.err)
}

// cut leaves the first part of a message to be read, and returns the rest. What a newer version has
// added at the end of a part is skipped.
func (k *coder) cut() (rest []byte) {
	size := k.Bytes(4)
	if size == nil {
		return nil
	}
	part := k.Bytes(uint64(binary.LittleEndian.Uint32(size)))
	rest, k.Rest = k.Rest, part
	return rest
}
