package otlp

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// errWire is the error of a message that is no protobuf.
var errWire = errors.New("malformed protobuf")

// A field is one field of a message.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	n     uint64 // of a varint or a fixed number
	bytes []byte // of a message or a text
}

// double returns the number of a field that is a double.
func (f *field) double() float64 { return math.Float64frombits(f.n) }

// fields calls take for each field of a message, in order. It stops at the first error.
func fields(b []byte, take func(f field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errWire
		}
		b = b[n:]
		f := field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.n, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.n = uint64(v)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = -1 // groups, which no version of the protocol has
		}
		if n < 0 {
			return errWire
		}
		b = b[n:]
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

// messages calls take for each message in the fields with a number, in order.
func messages(b []byte, num protowire.Number, take func(b []byte) error) error {
	return fields(b, func(f field) error {
		if !f.is(num, protowire.BytesType) {
			return nil
		}
		return take(f.bytes)
	})
}

// is reports whether f has a number and a type. A field that has the number and another type is not
// of this message.
func (f *field) is(num protowire.Number, typ protowire.Type) bool {
	return f.num == num && f.typ == typ
}

// fixed appends the numbers of a repeated field of fixed 64 bits, which may be packed.
func (f *field) fixed(dst []uint64) ([]uint64, error) {
	switch f.typ {
	case protowire.Fixed64Type:
		return append(dst, f.n), nil
	case protowire.BytesType:
		for b := f.bytes; len(b) > 0; {
			v, n := protowire.ConsumeFixed64(b)
			if n < 0 {
				return dst, errWire
			}
			dst, b = append(dst, v), b[n:]
		}
		return dst, nil
	}
	return dst, fmt.Errorf("%w: field %d", errWire, f.num)
}
