package remotewrite

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers"
)

// The numbers of the fields of both messages. docs/wire/remotewrite.md describes them.
const (
	fieldSeries1, fieldMetadata1   = 1, 3 // prometheus.WriteRequest
	fieldLabels1, fieldSamples     = 1, 2 // its TimeSeries; samples are the same in both
	fieldExemplars1, fieldNative1  = 3, 4
	fieldSymbols, fieldSeries2     = 4, 5 // io.prometheus.write.v2.Request
	fieldRefs                      = 1    // its TimeSeries
	fieldNative2, fieldExemplars2  = 3, 4
	fieldMetadata2, fieldCreated   = 5, 6
	fieldName, fieldText           = 1, 2 // of a label: name and value
	fieldValue, fieldTime          = 1, 2 // of a sample
	fieldStart                     = 3    // of a sample of 2.0: when the counter began
	fieldType                      = 1    // of metadata, both
	fieldFamily, fieldHelp, fieldU = 2, 4, 5
	fieldHelpRef, fieldUnitRef     = 3, 4
)

func truncated(off int, what string) error {
	return &receivers.Error{Reason: receivers.Truncated, Offset: off, What: what + " is cut off"}
}

func malformed(off int, what string) error {
	return &receivers.Error{Reason: receivers.Malformed, Offset: off, What: what}
}

// A field is one field of a message, without its content.
type field struct {
	number int
	kind   protowire.Type
}

// A reader reads the fields of one message.
type reader struct {
	b   []byte // the message
	at  int    // the next byte
	off int    // where b begins in the body, for errors
}

// next reads the tag of the next field. It returns false at the end of the message.
func (r *reader) next() (f field, ok bool, err error) {
	if r.at == len(r.b) {
		return f, false, nil
	}
	if c := r.b[r.at]; c < 0x80 && c >= 8 { // one byte
		r.at++
		return field{int(c >> 3), protowire.Type(c & 7)}, true, nil
	}
	num, kind, n := protowire.ConsumeTag(r.b[r.at:])
	if n < 0 {
		return f, false, malformed(r.off+r.at, "a field has no valid tag")
	}
	r.at += n
	return field{int(num), kind}, true, nil
}

// bytes reads the content of a field that consists of bytes.
func (r *reader) bytes(f field, what string) ([]byte, error) {
	if f.kind != protowire.BytesType {
		return nil, malformed(r.off+r.at, what+" has another type")
	}
	n, err := r.varint(what)
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.b)-r.at) {
		return nil, truncated(r.off+r.at, what)
	}
	r.at += int(n)
	return r.b[r.at-int(n) : r.at : r.at], nil
}

// message reads the content of a field that is a message.
func (r *reader) message(f field, what string) (reader, error) {
	b, err := r.bytes(f, what)
	return reader{b: b, off: r.off + r.at - len(b)}, err
}

func (r *reader) varint(what string) (uint64, error) {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint64(r.b[r.at-1]), nil
	}
	v, n := protowire.ConsumeVarint(r.b[r.at:])
	if n < 0 {
		if len(r.b)-r.at >= binary.MaxVarintLen64 {
			return 0, malformed(r.off+r.at, what+" is no number of 64 bits")
		}
		return 0, truncated(r.off+r.at, what)
	}
	r.at += n
	return v, nil
}

// number reads a field that is a varint.
func (r *reader) number(f field, what string) (uint64, error) {
	if f.kind != protowire.VarintType {
		return 0, malformed(r.off+r.at, what+" has another type")
	}
	return r.varint(what)
}

// double reads a field that is a double, as its bits.
func (r *reader) double(f field, what string) (uint64, error) {
	if f.kind != protowire.Fixed64Type {
		return 0, malformed(r.off+r.at, what+" has another type")
	}
	if len(r.b)-r.at < 8 {
		return 0, truncated(r.off+r.at, what)
	}
	r.at += 8
	return binary.LittleEndian.Uint64(r.b[r.at-8:]), nil
}

// skip passes over the content of a field that is not known.
func (r *reader) skip(f field) error {
	n := protowire.ConsumeFieldValue(protowire.Number(f.number), f.kind, r.b[r.at:])
	if n < 0 {
		return malformed(r.off+r.at, "an unknown field cannot be read")
	}
	r.at += n
	return nil
}
