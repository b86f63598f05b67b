package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// mountReflection lets clients such as grpcurl ask for the services Rondo and Cluster. gRPC's
// health check is not in the answers: its messages would clash with the messages of a program that
// links gRPC. Package grpcreflect is not linked: what it does before main takes a tenth of a verb's
// processor time.
func mountReflection(mux *middleware.Routes) {
	for _, path := range middleware.Reflections {
		mux.Handle(path, connect.NewBidiStreamHandler(path, reflection, connect.WithCodec(bytesCodec{}), connect.WithReadMaxBytes(maxReflection)))
	}
}

// maxReflection bounds one question of a client, in bytes.
const maxReflection = 4 << 10

// A bytesCodec passes messages as they are on the wire.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(m any) ([]byte, error) { return *m.(*[]byte), nil }

func (bytesCodec) Unmarshal(b []byte, m any) error {
	*m.(*[]byte) = bytes.Clone(b)
	return nil
}

// reflection answers questions about the services.
func reflection(_ context.Context, s *connect.BidiStream[[]byte, []byte]) error {
	for {
		question, err := s.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := reflected(*question)
		if err != nil {
			return connect.NewError(connect.CodeInvalidArgument, err)
		}
		if err := s.Send(&answer); err != nil {
			return err
		}
	}
}

// The fields of ServerReflectionRequest and ServerReflectionResponse that are used.
const (
	askHost, askFile, askSymbol, askServices            = 1, 3, 4, 7
	sayHost, sayQuestion, sayFiles, sayServices, sayErr = 1, 2, 4, 6, 7
)

// reflected returns the answer to a question.
func reflected(question []byte) ([]byte, error) {
	asked := make(map[protowire.Number]string)
	for rest := question; len(rest) > 0; {
		field, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		value := rest[n:]
		if n = protowire.ConsumeFieldValue(field, kind, value); n < 0 {
			return nil, protowire.ParseError(n)
		}
		if rest = value[n:]; kind == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(value) // it has been consumed before
			asked[field] = string(text)
		}
	}
	answer := appendField(appendField(nil, sayHost, []byte(asked[askHost])), sayQuestion, question)
	var file protoreflect.FileDescriptor
	err := protoregistry.NotFound
	if _, ok := asked[askServices]; ok {
		var list []byte
		for _, name := range []string{rondov1.RondoName, rondov1.ClusterName} {
			list = appendField(list, 1, appendField(nil, 1, []byte(name)))
		}
		return appendField(answer, sayServices, list), nil
	} else if name, ok := asked[askFile]; ok {
		file, err = protoregistry.GlobalFiles.FindFileByPath(name)
	} else if name, ok := asked[askSymbol]; ok {
		var d protoreflect.Descriptor
		if d, err = protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			file = d.ParentFile()
		}
	}
	var files []byte
	if err == nil {
		files, err = appendFiles(nil, file)
	}
	if err != nil {
		failure := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(connect.CodeNotFound))
		return appendField(answer, sayErr, appendField(failure, 2, []byte(err.Error()))), nil
	}
	return appendField(answer, sayFiles, files), nil
}

// appendFiles appends the descriptions of a file and of the files that it imports.
func appendFiles(b []byte, f protoreflect.FileDescriptor) ([]byte, error) {
	var packed []byte
	for _, m := range []interface{ Descriptor() ([]byte, []int) }{(*rondov1.InfoRequest)(nil), (*typesv1.Label)(nil)} {
		if m.(protoreflect.ProtoMessage).ProtoReflect().Descriptor().ParentFile().Path() == f.Path() {
			packed, _ = m.Descriptor()
		}
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, protoregistry.NotFound
	}
	file, err := io.ReadAll(r)
	b = appendField(b, 1, file)
	for i := 0; err == nil && i < f.Imports().Len(); i++ {
		b, err = appendFiles(b, f.Imports().Get(i))
	}
	return b, err
}

func appendField(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}
