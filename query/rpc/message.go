package rpc

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
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

// binaryCodec is protobuf's binary encoding. It bounds a Write before decoding it, and refuses
// unknown fields in requests that change something.
type binaryCodec struct{}

func (binaryCodec) Name() string { return "proto" }

func (binaryCodec) Marshal(m any) ([]byte, error) { return proto.Marshal(m.(proto.Message)) }

func (binaryCodec) MarshalAppend(dst []byte, m any) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(dst, m.(proto.Message))
}

func (binaryCodec) Unmarshal(b []byte, m any) error {
	m = wire.Unwrap(m)
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

// noUnknown returns an error if a request, or a message in it, has a field that is not in
// rondo.proto. The messages of a Write are walked without reflection, because there may be many.
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
			for _, l := range sample.GetLabels() {
				if err := unknownIn(l.ProtoReflect()); err != nil {
					return err
				}
			}
		}
		if d := w.GetDefinition(); d != nil {
			if err := unknownIn(d.ProtoReflect()); err != nil {
				return err
			}
		}
		return unknownIn(w.ProtoReflect())
	}
	return unknownBelow(m.ProtoReflect())
}

// unknownBelow returns an error if a message, or a message in it, has an unknown field. It does not
// look into maps, because the requests it is called for have no maps.
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
func changes(m any) bool {
	switch m.(type) {
	case *rondov1.WriteRequest, *rondov1.CreateRequest, *rondov1.DropRequest, *rondov1.RenameRequest, *rondov1.CheckpointRequest,
		*rondov1.SaveDashboardRequest, *rondov1.DropDashboardRequest, *rondov1.AlterRequest, *rondov1.TuneRequest,
		*rondov1.SetMetadataRequest, *rondov1.ImportFileRequest, *rondov1.ImportRequest,
		*rondov1.MoveRequest, *rondov1.LeadRequest, *rondov1.ReleaseRequest, *rondov1.DrainRequest:
		return true
	}
	return false
}
