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
	answer := func(ctx context.Context, q *connect.Request[wrapperspb.Int32Value]) (*connect.Response[wrapperspb.StringValue], error) {
		if q.Msg.GetValue() < 0 {
			return nil, connect.NewError(connect.CodeOutOfRange, errors.New("below zero"))
		}
		if call, ok := connect.CallInfoForHandlerContext(ctx); !ok || call.Peer().Addr == "" || call.HTTPMethod() != http.MethodPost {
			t.Errorf("the call is %v, %t", call, ok)
		}
		a := connect.NewResponse(wrapperspb.String(q.Header().Get("Text")))
		a.Header().Set("Head", "h")
		a.Trailer().Set("Tail", "t")
		return a, nil
	}
	mux := http.NewServeMux()
	mux.Handle(procedure, wire.NewUnaryHandler(procedure, answer))
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for name, o := range map[string]connect.ClientOption{"connect": connect.WithClientOptions(), "json": connect.WithProtoJSON(), "grpc": connect.WithGRPC(), "grpc-web": connect.WithGRPCWeb()} {
		c := wire.NewClient[wrapperspb.Int32Value, wrapperspb.StringValue](s.Client(), s.URL+procedure, o)
		q := connect.NewRequest(wrapperspb.Int32(3))
		q.Header().Set("Text", "sent")
		a, err := c.CallUnary(t.Context(), q)
		if err != nil || a.Msg.GetValue() != "sent" || a.Header().Get("Head") != "h" || a.Trailer().Get("Tail") != "t" {
			t.Errorf("%s: %v, %v", name, a, err)
		}
		if _, err := c.CallUnary(t.Context(), connect.NewRequest(wrapperspb.Int32(-1))); connect.CodeOf(err) != connect.CodeOutOfRange {
			t.Errorf("%s: %v", name, err)
		}
	}
}
