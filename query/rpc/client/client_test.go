package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/client"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestClientLinksNoEngine: who speaks to a server must not link the store.
func TestClientLinksNoEngine(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for p := range strings.FieldsSeq(string(out)) {
		switch {
		case strings.HasSuffix(p, "/query/rpc/client"), strings.HasSuffix(p, "/query/rpc/rondov1"), strings.HasSuffix(p, "/query/rpc/types/typesv1"),
			strings.HasSuffix(p, "/query/rpc/wire"):
			found++
		case strings.HasPrefix(p, "connectrpc.com/connect"), strings.HasPrefix(p, "google.golang.org/protobuf/"), strings.HasSuffix(p, "/internal/sleep"):
		default:
			t.Errorf("the client links %s", p)
		}
	}
	if found != 4 {
		t.Errorf("%d packages of rondo", found)
	}
}

// A scripted server answers Write and Tail as a test says.
type scripted struct {
	rondov1.UnimplementedRondoHandler
	calls atomic.Int64
	write func(call int64, m *rondov1.WriteRequest) (*rondov1.WriteResponse, error)
	tail  func(call int64, m *rondov1.TailRequest, send func(*rondov1.TailResponse) error) error
}

func (s *scripted) Write(_ context.Context, r *rondov1.WriteRequest) (*rondov1.WriteResponse, error) {
	return s.write(s.calls.Add(1), r)
}

func (s *scripted) Tail(_ context.Context, r *rondov1.TailRequest, stream *connect.ServerStream[rondov1.TailResponse]) error {
	return s.tail(s.calls.Add(1), r, stream.Send)
}

func speak(t *testing.T, s *scripted, o client.Options) (*client.Client, *http.Header) {
	t.Helper()
	var seen http.Header
	_, handler := rondov1.NewRondoHandler(s)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	c, err := client.New(h.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, &seen
}

var errBusy = connect.NewError(connect.CodeUnavailable, context.DeadlineExceeded)

func TestWriteTriesAgain(t *testing.T) {
	s := &scripted{write: func(call int64, m *rondov1.WriteRequest) (*rondov1.WriteResponse, error) {
		if call == 2 { // the second batch, once
			return nil, errBusy
		}
		return &rondov1.WriteResponse{Accepted: int64(len(m.GetSamples())), Rejections: []*rondov1.Rejection{{Index: new(int64(1)), Error: "x"}}}, nil
	}}
	c, seen := speak(t, s, client.Options{Token: "secret"})
	w, err := c.Write(t.Context(), make([]client.Sample, 25_000), true)
	if err != nil || w.Accepted != 25_000 || s.calls.Load() != 4 {
		t.Errorf("%+v, %v, %d calls", w, err, s.calls.Load())
	}
	if want := []client.Rejection{{1, "x"}, {10_001, "x"}, {20_001, "x"}}; !slices.Equal(w.Rejections, want) {
		t.Errorf("rejections %v", w.Rejections)
	}
	if got := seen.Get("Authorization"); got != "Bearer secret" {
		t.Errorf("Authorization %q", got)
	}
	s.write = func(int64, *rondov1.WriteRequest) (*rondov1.WriteResponse, error) {
		return nil, connect.NewError(connect.CodePermissionDenied, context.Canceled)
	}
	before := s.calls.Load()
	if _, err := c.Write(t.Context(), make([]client.Sample, 1), false); connect.CodeOf(err) != connect.CodePermissionDenied || s.calls.Load() != before+1 {
		t.Errorf("what is refused is tried again: %v", err)
	}
}

func TestTailGoesOnWhereItWas(t *testing.T) {
	rows := func(path string, start int64, values ...float64) *rondov1.FetchResponse {
		return &rondov1.FetchResponse{
			Path: path, Start: start, End: start + 10*int64(len(values)), Step: 10, Columns: []*rondov1.Column{{Ds: "v", Values: values}},
		}
	}
	s := &scripted{tail: func(call int64, m *rondov1.TailRequest, send func(*rondov1.TailResponse) error) error {
		switch {
		case call == 1:
			_ = send(&rondov1.TailResponse{Rows: []*rondov1.FetchResponse{rows("a", 0, 1, 2), rows("b", 0, 10)}})
			return errBusy
		case m.GetStart() != "10":
			return connect.NewError(connect.CodeInvalidArgument, context.Canceled)
		}
		return send(&rondov1.TailResponse{Rows: []*rondov1.FetchResponse{rows("a", 10, 2, 3), rows("b", 10, 20)}})
	}}
	c, seen := speak(t, s, client.Options{User: "u", Password: "p"})
	got := make(map[string][]float64)
	for r, err := range c.Tail(t.Context(), &rondov1.TailRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		if first := r.End(0); first != time.Unix(int64(10*len(got[r.Path])+10), 0) {
			t.Errorf("%s: rows from %v", r.Path, first)
		}
		got[r.Path] = append(got[r.Path], r.Value[0]...)
	}
	if !slices.Equal(got["a"], []float64{1, 2, 3}) || !slices.Equal(got["b"], []float64{10, 20}) {
		t.Errorf("%v", got)
	}
	if got := seen.Get("Authorization"); got != "Basic dTpw" {
		t.Errorf("Authorization %q", got)
	}
}
