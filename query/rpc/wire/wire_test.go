package wire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rondo-db/rondo/query/rpc/wire"
)

// TestUnary: messages, headers, trailers and errors arrive as connect itself carries them, in each
// protocol.
func TestUnary(t *testing.T) {
	const procedure = "/test.Test/Double"
	answer := func(ctx context.Context, q *wrapperspb.Int32Value) (*wrapperspb.StringValue, error) {
		if q.GetValue() < 0 {
			return nil, connect.NewError(connect.CodeOutOfRange, errors.New("below zero"))
		}
		call, ok := connect.CallInfoForHandlerContext(ctx)
		if !ok || call.Peer().Addr == "" || call.HTTPMethod() != http.MethodPost {
			t.Errorf("the call is %v, %t", call, ok)
		}
		call.ResponseHeader().Set("Head", "h")
		call.ResponseTrailer().Set("Tail", "t")
		return wrapperspb.String(call.RequestHeader().Get("Text")), nil
	}
	mux := http.NewServeMux()
	mux.Handle(procedure, wire.NewUnaryHandler(procedure, answer))
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for name, o := range map[string]connect.ClientOption{"connect": connect.WithClientOptions(), "json": connect.WithProtoJSON(), "grpc": connect.WithGRPC(), "grpc-web": connect.WithGRPCWeb()} {
		c := wire.NewClient[wrapperspb.Int32Value, wrapperspb.StringValue](s.Client(), s.URL+procedure, o)
		ctx, call := connect.NewClientContext(t.Context())
		call.RequestHeader().Set("Text", "sent")
		a, err := c.CallUnary(ctx, wrapperspb.Int32(3))
		if err != nil || a.GetValue() != "sent" || call.ResponseHeader().Get("Head") != "h" || call.ResponseTrailer().Get("Tail") != "t" {
			t.Errorf("%s: %v, %v", name, a, err)
		}
		if _, err := c.CallUnary(t.Context(), wrapperspb.Int32(-1)); connect.CodeOf(err) != connect.CodeOutOfRange {
			t.Errorf("%s: %v", name, err)
		}
	}
}
