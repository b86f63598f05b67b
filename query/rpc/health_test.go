package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rondo-db/rondo/query/rpc"
)

func TestHealth(t *testing.T) {
	ready := true
	s := httptest.NewUnstartedServer(rpc.HealthHandler(func() bool { return ready }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p}
	t.Cleanup(tr.CloseIdleConnections)
	c := connect.NewClient[wrapperspb.StringValue, wrapperspb.Int32Value](&http.Client{Transport: tr}, s.URL+rpc.HealthProcedure, connect.WithGRPC())
	check := func(service string) (int32, error) {
		r, err := c.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String(service)))
		if err != nil {
			return 0, err
		}
		return r.Msg.GetValue(), nil
	}
	const serving, notServing = 1, 2
	for _, service := range []string{"", "rondo.v1.Rondo"} {
		if got, err := check(service); got != serving || err != nil {
			t.Errorf("%q: %v, %v", service, got, err)
		}
	}
	if _, err := check("rondo.v1.Cluster"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another service: %v", err)
	}
	ready = false
	if got, err := check(""); got != notServing || err != nil {
		t.Errorf("not ready: %v, %v", got, err)
	}
}

func TestProtoIsTheFile(t *testing.T) {
	want, err := os.ReadFile("rondo.proto")
	if err != nil {
		t.Fatal(err)
	}
	if string(rpc.Proto) != string(want) || len(want) == 0 {
		t.Error("Proto is not rondo.proto")
	}
}
