package rpc

import (
	"fmt"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// unsendable returns err, or a better error if the message could not be sent because a text in it
// is not UTF-8.
func unsendable(m any, err error) error {
	if err == nil || connect.CodeOf(err) != connect.CodeInternal {
		return err
	}
	if p, ok := m.(proto.Message); ok {
		if e := checkUTF8(p.ProtoReflect()); e != nil {
			return connect.NewError(connect.CodeInvalidArgument, e)
		}
	}
	return err
}

// checkUTF8 returns an error that names the first text of a message that is not UTF-8.
func checkUTF8(m protoreflect.Message) error {
	var field protoreflect.Name // at hand
	return protorange.Range(m, func(at protopath.Values) error {
		last := at.Index(-1)
		texts := []any{last.Value.Interface()}
		switch last.Step.Kind() {
		case protopath.FieldAccessStep:
			field = last.Step.FieldDescriptor().Name()
		case protopath.MapIndexStep:
			texts = append(texts, last.Step.MapIndex().Interface())
		}
		for _, x := range texts {
			if s, ok := x.(string); ok && !utf8.ValidString(s) {
				return fmt.Errorf("%s %.200q is no UTF-8", field, s)
			}
		}
		return nil
	})
}
