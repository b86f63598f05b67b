package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"connectrpc.com/connect"
)

// ErrEnded says that a server was there and went away before it had answered: it was killed, or has
// ended. Whether it has done what it was asked for is not known.
var ErrEnded = errors.New("the server ended before it had answered: whether it did what it was asked for is not known. Its log says why it ended")

// brokeOff reports whether err says that the other end of a connection is gone.
func brokeOff(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrUnexpectedEOF)
}

// closed reports whether err says that the other end has closed a connection.
func closed(err error) bool { return brokeOff(err) || errors.Is(err, io.EOF) }

// ended returns ErrEnded in place of an error of a connection that broke off.
func ended(err error) error {
	if brokeOff(err) {
		return connect.NewError(connect.CodeUnavailable, ErrEnded)
	}
	return err
}

// endedCall is ended for a call over HTTP. The transport closes a connection whose other end is
// gone, and a Write at the same time then reports a closed connection.
func endedCall(ctx context.Context, err error) error {
	if errors.Is(err, net.ErrClosed) && ctx.Err() == nil {
		err = io.ErrUnexpectedEOF
	}
	return ended(err)
}

// A clientChecker is an interceptor of clients that returns better errors: ErrEnded for connections
// that break off, and the name of the field for a request that cannot be sent because a text in it
// is not UTF-8.
type clientChecker struct{}

func (clientChecker) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		answer, err := next(ctx, req)
		if errors.Is(err, io.EOF) { // the connection was closed in place of an answer
			err = io.ErrUnexpectedEOF
		}
		return answer, unsendable(req.Any(), endedCall(ctx, err))
	}
}

func (clientChecker) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		return checkedStream{next(ctx, spec), ctx}
	}
}

func (clientChecker) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// A checkedStream is a stream with a clientChecker's errors. An io.EOF stays unchanged: it is the
// end of the stream, or says that Receive returns the error.
type checkedStream struct {
	connect.StreamingClientConn
	ctx context.Context // of the stream
}

func (s checkedStream) Send(m any) error {
	return unsendable(m, endedCall(s.ctx, s.StreamingClientConn.Send(m)))
}

func (s checkedStream) Receive(m any) error {
	return endedCall(s.ctx, s.StreamingClientConn.Receive(m))
}
