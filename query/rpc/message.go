package rpc

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/wire"
)

// maxParts bounds the samples, values and labels of one Write together. They are counted in the
// bytes of the request, before they are decoded: an empty message takes 2 bytes on the wire and
// more than 100 bytes in memory.
const maxParts = 500_000

func tooManyParts(n int) error {
	return fmt.Errorf("more than %d samples and values in one request (%d found so far)", maxParts, n)
}

// A codec is one of protobuf's encodings. It bounds a Write before decoding it, and refuses unknown
// fields in requests that change something.
type codec struct {
	name   string
	encode func(dst []byte, m proto.Message) ([]byte, error)
	decode func(b []byte, m proto.Message) error
}

func (c codec) Name() string { return c.name }

func (c codec) Marshal(m any) ([]byte, error) { return c.encode(nil, m.(proto.Message)) }

func (c codec) MarshalAppend(dst []byte, m any) ([]byte, error) {
	return c.encode(dst, m.(proto.Message))
}

func (c codec) Unmarshal(b []byte, m any) error { return c.decode(b, wire.Unwrap(m).(proto.Message)) }

// binaryCodec is the binary encoding.
var binaryCodec = codec{"proto", proto.MarshalOptions{}.MarshalAppend, decodeBinary}

func decodeBinary(b []byte, m proto.Message) error {
	if _, ok := m.(*rondov1.WriteRequest); ok {
		if n := writeParts(b); n > maxParts {
			return tooManyParts(n)
		}
	}
	if err := proto.Unmarshal(b, m); err != nil || !changes(m) {
		return err
	}
	return noUnknown(m)
}

// noUnknown returns an error if a request, or a message in it, has a field that is not in
// rondo.proto. The messages of a Write are walked without reflection, because there may be many.
func noUnknown(m proto.Message) (err error) {
	w, ok := m.(*rondov1.WriteRequest)
	if !ok {
		return protorange.Range(m.ProtoReflect(), func(at protopath.Values) error {
			if at.Index(-1).Step.Kind() == protopath.UnknownAccessStep {
				return unknownIn(at.Index(-2).Value.Message())
			}
			return nil
		})
	}
	look := func(m proto.Message) { err = cmp.Or(err, unknownIn(m.ProtoReflect())) }
	look(w)
	look(w.GetDefinition())
	for _, sample := range w.GetSamples() {
		look(sample)
		for _, v := range sample.GetValues() {
			look(v)
		}
		for _, l := range sample.GetLabels() {
			look(l)
		}
	}
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

// The numbers, in rondo.proto, of the fields that writeParts counts.
const (
	fieldSamples = 1 // of WriteRequest
	fieldValues  = 4 // of Sample
	fieldLabels  = 6 // of Sample
)

// writeParts counts the samples and values in the bytes of a WriteRequest. It stops at bytes that
// do not parse, and as soon as there are more than maxParts.
func writeParts(b []byte) int {
	n := 0
	fields(b, fieldSamples, func(sample []byte) bool {
		n++
		for _, field := range [...]protowire.Number{fieldValues, fieldLabels} {
			fields(sample, field, func([]byte) bool {
				n++
				return n <= maxParts
			})
		}
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

// changes says whether a request changes something. An unknown field of such a request is an error:
// a mistyped time_us would store a sample at the present, and a dry_run that this server does not
// know would delete.
func changes(m proto.Message) bool {
	switch m.(type) {
	case *rondov1.WriteRequest, *rondov1.CreateRequest, *rondov1.DropRequest, *rondov1.RenameRequest, *rondov1.CheckpointRequest,
		*rondov1.SaveDashboardRequest, *rondov1.DropDashboardRequest, *rondov1.AlterRequest, *rondov1.TuneRequest,
		*rondov1.SetMetadataRequest, *rondov1.ImportFileRequest, *rondov1.ImportRequest,
		*rondov1.MoveRequest, *rondov1.LeadRequest, *rondov1.ReleaseRequest, *rondov1.DrainRequest:
		return true
	}
	return false
}
