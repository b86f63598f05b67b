package rpc_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// tailing serves a new store whose Tails look for rows all the time. The server ends when end is
// called.
func tailing(t *testing.T) (store *core.Store, c rondov1.RondoClient, end func()) {
	t.Helper()
	store = enginetest.Open(t)
	ending := make(chan struct{})
	s := &rpc.Server{Store: store, TailEvery: time.Millisecond, Ending: ending, Now: func() time.Time { return time.Unix(epoch, 0).UTC() }}
	mux := http.NewServeMux()
	mux.Handle(s.Handler(nil))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return store, client(t, h.URL, false), func() { close(ending) }
}

// tail begins a Tail, and returns once its series are chosen.
func tail(t *testing.T, c rondov1.RondoClient, m *rondov1.TailRequest) *connect.ServerStreamForClient[rondov1.TailResponse] {
	t.Helper()
	stream, err := c.Tail(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	return stream
}

// rowsOf receives n rows, and returns the ends and values of each series' rows.
func rowsOf(t *testing.T, stream *connect.ServerStreamForClient[rondov1.TailResponse], n int) map[string]string {
	t.Helper()
	got := make(map[string]string)
	for n > 0 {
		if !stream.Receive() {
			t.Fatalf("%v, after %v", stream.Err(), got)
		}
		for _, r := range stream.Msg().GetRows() {
			for i, v := range r.GetColumns()[1].GetValues() {
				got[r.GetPath()] += fmt.Sprintf("%d:%v ", r.GetStart()+int64(i+1)*r.GetStep(), v)
				n--
			}
		}
	}
	return got
}

func TestTailSendsNewRows(t *testing.T) {
	_, c, end := tailing(t)
	create(t, c, "web/a", &typesv1.Label{Name: "host", Value: "web"})
	create(t, c, "web/b", &typesv1.Label{Name: "host", Value: "web"})
	create(t, c, "other/c")
	samples := func(path string, from, to int) {
		for at := from; at <= to; at += 10 {
			write(t, c, &rondov1.Sample{Path: path, Update: fmt.Sprintf("%d:1:%d", at, at%1000)})
		}
	}
	samples("web/a", 1699999010, 1699999020)
	streams := []*connect.ServerStreamForClient[rondov1.TailResponse]{
		tail(t, c, &rondov1.TailRequest{Prefix: "web/"}),
		tail(t, c, &rondov1.TailRequest{Matchers: []*typesv1.Matcher{{Name: "host", Value: "web"}}}),
		tail(t, c, &rondov1.TailRequest{Paths: []string{"web/a", "web/b", "web/none"}}),
	}
	samples("other/c", 1699999010, 1699999030)
	samples("web/a", 1699999030, 1699999049)
	samples("web/b", 1699999010, 1699999020)
	want := map[string]string{"web/a": "1699999030:30 1699999040:40 ", "web/b": "1699999010:10 1699999020:20 "}
	for _, s := range streams {
		if got := rowsOf(t, s, 4); !cmp.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	since := tail(t, c, &rondov1.TailRequest{Paths: []string{"web/a"}, Start: "1699999020", Cf: "average"})
	if got := rowsOf(t, since, 2); !cmp.Equal(got, map[string]string{"web/a": want["web/a"]}) {
		t.Errorf("from a start: %v", got)
	}
	end()
	for _, s := range append(streams, since) {
		for s.Receive() {
			if len(s.Msg().GetRows()) > 0 {
				t.Errorf("more rows: %v", s.Msg())
			}
		}
		if err := s.Err(); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "about to end") {
			t.Errorf("the server ends: %v", err)
		}
	}
}

// TestTailOfDroppedSeries: a series that is dropped ends without an error, and the others go on.
func TestTailOfDroppedSeries(t *testing.T) {
	_, c, _ := tailing(t)
	create(t, c, "a")
	create(t, c, "b")
	s := tail(t, c, &rondov1.TailRequest{})
	if _, err := c.Drop(t.Context(), &rondov1.DropRequest{Path: "a"}); err != nil {
		t.Fatal(err)
	}
	write(t, c, &rondov1.Sample{Path: "b", Update: "1699999010:1:7"})
	if got := rowsOf(t, s, 1); got["b"] != "1699999010:7 " {
		t.Errorf("%v", got)
	}
}

func TestTailRefuses(t *testing.T) {
	_, c, _ := tailing(t)
	for _, tt := range []struct {
		m    *rondov1.TailRequest
		code connect.Code
		text string
	}{
		{&rondov1.TailRequest{Cf: "nosuch"}, connect.CodeInvalidArgument, "cf"},
		{&rondov1.TailRequest{Cf: "HWPREDICT"}, connect.CodeInvalidArgument, "cf"},
		{&rondov1.TailRequest{Start: "nosuch"}, connect.CodeInvalidArgument, "start"},
		{&rondov1.TailRequest{Paths: []string{"a"}, Prefix: "b"}, connect.CodeInvalidArgument, "paths"},
		{&rondov1.TailRequest{Paths: []string{"../a"}}, connect.CodeInvalidArgument, "a"},
		{&rondov1.TailRequest{Paths: make([]string, 10_001)}, connect.CodeInvalidArgument, "10001 paths"},
		{&rondov1.TailRequest{Matchers: []*typesv1.Matcher{{Name: "x", Op: "=~", Value: "("}}}, connect.CodeInvalidArgument, "matcher 0"},
	} {
		stream, err := c.Tail(t.Context(), tt.m)
		if err != nil {
			t.Fatal(err)
		}
		if stream.Receive() {
			t.Errorf("%.80v is answered", tt.m)
		}
		if err := stream.Err(); connect.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%.80v: %v, want %v with %q", tt.m, err, tt.code, tt.text)
		}
		_ = stream.Close()
	}
}

// TestTailEndsForSlowReaders: a client that takes longer to read the rows of one look than it may
// is asked to begin again with fewer series.
func TestTailEndsForSlowReaders(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle((&rpc.Server{Store: enginetest.Open(t), TailEvery: time.Millisecond, TailRound: 1}).Handler(nil))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	c := client(t, h.URL, false)
	for i := range 20 {
		create(t, c, fmt.Sprint("a/", i))
	}
	s := tail(t, c, &rondov1.TailRequest{})
	for s.Receive() {
		if n := len(s.Msg().GetRows()); n > 0 {
			t.Errorf("%d rows of series without any", n)
		}
	}
	if err := s.Err(); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "reads too slowly") {
		t.Errorf("%v", err)
	}
}

// TestTailEndsWithTheRights: a Tail went on for an hour with the rights that its user had at first.
func TestTailEndsWithTheRights(t *testing.T) {
	for name, changed := range map[string]func() (*access.User, error){
		"other folders": func() (*access.User, error) {
			return &access.User{Name: "u", Role: access.Read, Folders: []string{"b"}}, nil
		},
		"removed": func() (*access.User, error) { return nil, errors.New("no such user") },
	} {
		t.Run(name, func(t *testing.T) {
			var gone atomic.Bool
			was := access.User{Name: "u", Role: access.Read}
			_, rondo := (&rpc.Server{Store: enginetest.Open(t), TailEvery: time.Millisecond}).Handler(nil)
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx := access.WithAsk(access.With(r.Context(), &was), func() (*access.User, error) {
					if gone.Load() {
						return changed()
					}
					same := was
					return &same, nil
				})
				rondo.ServeHTTP(w, r.WithContext(ctx))
			}))
			t.Cleanup(h.Close)
			s := tail(t, client(t, h.URL, false), &rondov1.TailRequest{})
			gone.Store(true)
			for s.Receive() {
			}
			if err := s.Err(); connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestTailOfAlteredSeries: a series that is altered has another reference. Its rows go on behind
// those that were sent, each once.
func TestTailOfAlteredSeries(t *testing.T) {
	store, c, _ := tailing(t)
	create(t, c, "web/a")
	samples := func(from, to int) {
		for at := from; at <= to; at += 10 {
			write(t, c, &rondov1.Sample{Path: "web/a", Update: fmt.Sprintf("%d:1:%d", at, at%1000)})
		}
	}
	samples(1699999010, 1699999030)
	stream := tail(t, c, &rondov1.TailRequest{Prefix: "web/", Start: "1699999000"})
	got := rowsOf(t, stream, 3)["web/a"]
	samples(1699999040, 1699999040)
	_, err := store.Alter(t.Context(), "web/a", func(x core.Copy) (core.Copy, error) {
		d := *x.Definition
		d.Sources = slices.Clone(d.Sources)
		d.Sources[0].Heartbeat++
		x.Definition = &d
		return x, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	samples(1699999050, 1699999060)
	for !strings.Contains(got, "1699999060:") {
		got += rowsOf(t, stream, 1)["web/a"]
	}
	if want := "1699999010:10 1699999020:20 1699999030:30 1699999040:40 1699999050:50 1699999060:60 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
