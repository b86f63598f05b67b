package rpc

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Proto is the text of rondo.proto. Clients in other languages are generated from it.
//
//go:embed rondo.proto
var Proto []byte

// HealthProcedure is the path of gRPC's standard health check.
const HealthProcedure = "/grpc.health.v1.Health/Check"

// The statuses of a health check, as gRPC numbers them.
const (
	healthServing    = 1
	healthNotServing = 2
)

// HealthHandler answers health checks at HealthProcedure as grpc.health.v1 defines them, for the
// server as a whole and for the service Rondo. It does not answer Watch, so clients poll with
// Check.
func HealthHandler(ready func() bool) http.Handler {
	// The wrapper messages have the bytes of grpc.health.v1's messages: one string, or one number,
	// as field 1. Messages of grpc.health.v1's own names would clash in a program that also links
	// gRPC.
	check := func(_ context.Context, req *wrapperspb.StringValue) (*wrapperspb.Int32Value, error) {
		switch req.GetValue() {
		case "", rondov1.RondoName:
		default:
			return nil, connect.NewError(connect.CodeNotFound, errors.New("unknown service"))
		}
		if !ready() {
			return wrapperspb.Int32(healthNotServing), nil
		}
		return wrapperspb.Int32(healthServing), nil
	}
	const most = 1 << 10 // bytes of a service's name
	return connect.NewUnaryHandlerSimple(
		HealthProcedure, check, connect.WithReadMaxBytes(most), connect.WithCodec(healthJSON{"json"}), connect.WithCodec(healthJSON{"json; charset=utf-8"}),
	)
}

// healthJSON is the JSON encoding of grpc.health.v1's messages, which differs from the encoding of
// the wrapper messages that stand in for them.
type healthJSON struct{ name string }

func (c healthJSON) Name() string { return c.name }

func (healthJSON) Marshal(m any) ([]byte, error) {
	status := "NOT_SERVING"
	if m.(*wrapperspb.Int32Value).GetValue() == healthServing {
		status = "SERVING"
	}
	return json.Marshal(map[string]string{"status": status})
}

func (healthJSON) Unmarshal(b []byte, m any) error {
	var ask struct{ Service string }
	if err := json.Unmarshal(b, &ask); err != nil {
		return err
	}
	m.(*wrapperspb.StringValue).Value = ask.Service
	return nil
}
