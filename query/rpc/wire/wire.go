// Package wire stands between generated code and connect. Connect compiles its clients and handlers
// for each pair of types of messages, which are some kilobytes for each method of the RPC. Here all
// methods with one request and one answer share one client and one handler, whose messages are of
// the type Message.
package wire

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// A Message is a message of any type.
type Message struct{ proto.Message }

// Reset empties the message. Package proto calls it before it decodes one.
func (m *Message) Reset() { proto.Reset(m.Message) }

// Unwrap returns the message in a Message, and anything else as it is.
func Unwrap(m any) any {
	if w, ok := m.(*Message); ok {
		return w.Message
	}
	return m
}

// message is what a pointer to a type of messages can do.
type message[T any] interface {
	*T
	proto.Message
}

// empty makes a Message hold a new message of a type.
func empty[T any, M message[T]](_ connect.Spec, m any) error {
	m.(*Message).Message = M(new(T))
	return nil
}

// A Client calls one method.
type Client[Q, A any, QM message[Q], AM message[A]] struct {
	client *connect.Client[Message, Message]
}

// NewClient returns a client for the method at an address.
func NewClient[Q, A any, QM message[Q], AM message[A]](h connect.HTTPClient, address string, options ...connect.ClientOption) *Client[Q, A, QM, AM] {
	return &Client[Q, A, QM, AM]{newClient(h, address, empty[A, AM], options)}
}

func newClient(h connect.HTTPClient, address string, empty func(connect.Spec, any) error, options []connect.ClientOption) *connect.Client[Message, Message] {
	return connect.NewClient[Message, Message](h, address, append(options, connect.WithResponseInitializer(empty))...)
}

// CallUnary calls the method.
func (c *Client[Q, A, QM, AM]) CallUnary(ctx context.Context, req *Q) (*A, error) {
	got, err := c.client.CallUnary(ctx, connect.NewRequest(&Message{QM(req)}))
	if err != nil {
		return nil, err
	}
	return (*A)(got.Msg.Message.(AM)), nil
}

// NewUnaryHandler returns a handler that answers by a function. For all but the message of a call
// there is connect.CallInfoForHandlerContext.
func NewUnaryHandler[Q, A any, QM message[Q], AM message[A]](procedure string, answer func(context.Context, *Q) (*A, error), options ...connect.HandlerOption) *connect.Handler {
	return newHandler(procedure, empty[Q, QM], func(ctx context.Context, shared *Message) (*Message, error) {
		got, err := answer(ctx, (*Q)(shared.Message.(QM)))
		return &Message{AM(got)}, err
	}, options)
}

func newHandler(procedure string, empty func(connect.Spec, any) error, answer func(context.Context, *Message) (*Message, error), options []connect.HandlerOption) *connect.Handler {
	return connect.NewUnaryHandlerSimple(procedure, answer, append(options, connect.WithRequestInitializer(empty))...)
}
