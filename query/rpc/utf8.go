package rpc

import (
	"fmt"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
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
func checkUTF8(m protoreflect.Message) (err error) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		check := func(v protoreflect.Value, kind protoreflect.Kind) bool {
			switch kind {
			case protoreflect.StringKind:
				if s := v.String(); !utf8.ValidString(s) {
					err = fmt.Errorf("%s %.200q is no UTF-8", f.Name(), s)
				}
			case protoreflect.MessageKind, protoreflect.GroupKind:
				err = checkUTF8(v.Message())
			}
			return err == nil
		}
		switch {
		case f.IsList():
			for i := 0; err == nil && i < v.List().Len(); i++ {
				check(v.List().Get(i), f.Kind())
			}
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				return check(k.Value(), f.MapKey().Kind()) && check(v, f.MapValue().Kind())
			})
		default:
			check(v, f.Kind())
		}
		return err == nil
	})
	return err
}
