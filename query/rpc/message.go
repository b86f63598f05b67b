package rpc

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// What arrives is bounded before memory is taken for it: a packed message is unpacked to its limit
// and no further, and the samples and values of a Write are counted before they become messages, of
// which an empty one takes 2 bytes on the wire and over 100 in memory.

// messageLimits returns the limits of the requests of one procedure.
func messageLimits(spec connect.Spec) []connect.HandlerOption {
	n := maxQueryBytes
	switch spec.Procedure {
	case rondov1.RondoWriteProcedure:
		n = MaxRequestBytes
	case rondov1.RondoCreateProcedure:
		n = maxCreateBytes
	}
	gunzip := func() connect.Decompressor { return &unpacker{limit: int64(n)} }
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(n),
		connect.WithCompression("gzip", gunzip, func() connect.Compressor { return gzip.NewWriter(io.Discard) }),
		connect.WithCodec(binaryCodec{}),
		connect.WithCodec(jsonCodec{"json"}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8"}),
	}
}

// An unpacker unpacks gzip up to a limit of bytes. Beyond it, it fails: the library would otherwise
// unpack the rest to say how long it is.
type unpacker struct {
	gzip.Reader
	limit, left int64
}

var errUnpacked = errors.New("it goes on when unpacked")

func (u *unpacker) Read(p []byte) (int, error) {
	if u.left < 0 {
		return 0, errUnpacked
	}
	n, err := u.Reader.Read(p[:min(int64(len(p)), u.left+1)])
	u.left -= int64(n)
	return n, err
}

func (u *unpacker) Reset(r io.Reader) error {
	u.left = u.limit
	return u.Reader.Reset(r)
}

// maxParts bounds the samples and values of one Write together.
const maxParts = 500_000

func tooManyParts(n int) error {
	return fmt.Errorf("more than %d samples and values in one request (%d found so far)", maxParts, n)
}

// binaryCodec is protobuf's own coding.
type binaryCodec struct{}

func (binaryCodec) Name() string   { return "proto" }
func (binaryCodec) IsBinary() bool { return true }

func (binaryCodec) Marshal(m any) ([]byte, error) { return proto.Marshal(m.(proto.Message)) }

func (binaryCodec) MarshalAppend(dst []byte, m any) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(dst, m.(proto.Message))
}

func (binaryCodec) MarshalStable(m any) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m.(proto.Message))
}

func (binaryCodec) Unmarshal(b []byte, m any) error {
	if _, ok := m.(*rondov1.WriteRequest); ok {
		if n := writeParts(b); n > maxParts {
			return tooManyParts(n)
		}
	}
	if err := proto.Unmarshal(b, m.(proto.Message)); err != nil {
		return err
	}
	if changes(m) {
		return noUnknown(m.(proto.Message))
	}
	return nil
}

// noUnknown returns an error if a request has a field that is not in rondo.proto, in it or in a
// message of it. A Write may hold many messages, so the fields of these are not found by
// reflection.
func noUnknown(m proto.Message) error {
	if w, ok := m.(*rondov1.WriteRequest); ok {
		for _, sample := range w.GetSamples() {
			if err := unknownIn(sample.ProtoReflect()); err != nil {
				return err
			}
			for _, v := range sample.GetValues() {
				if err := unknownIn(v.ProtoReflect()); err != nil {
					return err
				}
			}
		}
		return unknownIn(w.ProtoReflect())
	}
	return unknownBelow(m.ProtoReflect())
}

// unknownBelow returns an error if a message, or one in it, has an unknown field. Requests have no
// maps.
func unknownBelow(m protoreflect.Message) error {
	err := unknownIn(m)
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case err != nil || f.Message() == nil:
		case f.IsList():
			for i := 0; err == nil && i < v.List().Len(); i++ {
				err = unknownBelow(v.List().Get(i).Message())
			}
		case !f.IsMap():
			err = unknownBelow(v.Message())
		}
		return err == nil
	})
	return err
}

// unknownIn returns an error if a message itself has an unknown field.
func unknownIn(m protoreflect.Message) error {
	unknown := m.GetUnknown()
	if len(unknown) == 0 {
		return nil
	}
	number, _, _ := protowire.ConsumeTag(unknown)
	return fmt.Errorf("unknown field number %d in %s: a request that changes something may hold no other fields than those of rondo.proto", number, m.Descriptor().Name())
}

// The fields that writeParts counts; the numbers are those of rondo.proto.
const (
	fieldSamples = 1 // of WriteRequest
	fieldValues  = 4 // of Sample
)

// writeParts counts the samples and values in the bytes of a WriteRequest, up to where these do not
// parse or there are more than maxParts.
func writeParts(b []byte) int {
	n := 0
	fields(b, fieldSamples, func(sample []byte) bool {
		n++
		fields(sample, fieldValues, func([]byte) bool {
			n++
			return n <= maxParts
		})
		return n <= maxParts
	})
	return n
}

// fields calls f with the bytes of each field num of a message, until f returns false.
func fields(b []byte, num protowire.Number, f func([]byte) bool) {
	for len(b) > 0 {
		got, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		if got == num && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 || !f(v) {
				return
			}
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(got, typ, b); n < 0 {
			return
		}
		b = b[n:]
	}
}
