package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc"
	rpcclient "github.com/rondo-db/rondo/query/rpc/client"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// An outage is a store one of whose series, b, is out of reach for a while, as a series of a
// partition whose node has just died.
type outage struct {
	core.Engine
	t            *testing.T
	b            core.Ref
	rows, states atomic.Bool  // whether the rows, and the last update, are out of reach
	hits         atomic.Int32 // calls that found it so
	url          string
	rpc          rondov1.RondoClient
}

// newOutage serves the store, a first Tail by the first of some servers. At a second one the rows
// can be reached.
func newOutage(t *testing.T, servers ...*rpc.Server) *outage {
	t.Helper()
	o := &outage{t: t, Engine: enginetest.Open(t)}
	var handlers []http.Handler
	for _, s := range servers {
		s.Store, s.TailEvery, s.Now = o, time.Millisecond, func() time.Time { return time.Unix(epoch, 0).UTC() }
		_, h := s.Handler(nil)
		handlers = append(handlers, h)
	}
	tails := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := min(tails, len(handlers)-1)
		if r.URL.Path == rondov1.RondoTailProcedure {
			if tails++; tails > 1 {
				o.rows.Store(false)
			}
		}
		handlers[at].ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	o.url, o.rpc = h.URL, client(t, h.URL, false)
	create(t, o.rpc, "a")
	o.b = core.Ref(create(t, o.rpc, "b"))
	return o
}

// add adds row n to a series, with the value n.
func (o *outage) add(path string, n int) {
	o.t.Helper()
	write(o.t, o.rpc, &rondov1.Sample{Path: path, Update: fmt.Sprintf("%d:%d:%d", 1699999000+10*n, n, n)})
}

func (o *outage) Lasts(ctx context.Context, refs []core.Ref) ([]core.LastTime, error) {
	if slices.Contains(refs, o.b) && o.states.Load() {
		o.hits.Add(1)
		return nil, enginetest.ErrAway
	}
	return o.Engine.Lasts(ctx, refs)
}

func (o *outage) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	if !o.rows.Load() {
		return o.Engine.FetchMany(ctx, spans, fn)
	}
	var failed error
	for i := range spans {
		if spans[i].Ref == o.b {
			o.hits.Add(1)
			failed = enginetest.ErrAway
			fn(i, &core.Rows{}, failed)
			continue
		}
		if err := o.Engine.FetchMany(ctx, spans[i:i+1], func(_ int, r *core.Rows, err error) { fn(i, r, err) }); err != nil {
			return err
		}
	}
	return failed
}

// A Tail went past rows that it could not read while a partition was out of reach, and they never
// came.
func TestTailSendsRowsThatWereOutOfReach(t *testing.T) {
	for _, what := range []string{"rows", "last update"} {
		// After TailRound the Tail would give up, and b be asked for no more: on a busy machine the
		// wait below began after that, and had no end.
		o := newOutage(t, &rpc.Server{TailRound: time.Hour})
		o.add("b", 1)
		stream := tail(t, o.rpc, &rondov1.TailRequest{})
		o.rows.Store(what == "rows")
		o.states.Store(what == "last update")
		o.add("b", 2)
		for o.hits.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		o.add("a", 2) // a series that can be reached goes on
		if got := rowsOf(t, stream, 2); got["a"] == "" {
			t.Errorf("%s of another series out of reach: %v", what, got)
		}
		o.rows.Store(false)
		o.states.Store(false)
		o.add("b", 3)
		if got := rowsOf(t, stream, 2)["b"]; got != "1699999020:2 1699999030:3 " {
			t.Errorf("%s out of reach: the rows behind are %q", what, got)
		}
	}
}

// A Tail whose rows stay out of reach ends, and says where each series is.
func TestTailEndsWhileRowsStayOutOfReach(t *testing.T) {
	o := newOutage(t, &rpc.Server{TailRound: 1})
	for n := range 3 {
		o.add("a", n+1)
		o.add("b", n+1)
	}
	o.rows.Store(true)
	stream := tail(t, o.rpc, &rondov1.TailRequest{Start: "1699999010"})
	at := make(map[string]int64)
	for stream.Receive() {
		for _, r := range stream.Msg().GetRows() {
			if at[r.GetPath()] = r.GetEnd(); r.GetPath() == "b" && r.GetStart() != r.GetEnd() {
				t.Errorf("rows that cannot be read: %v", r)
			}
		}
	}
	if connect.CodeOf(stream.Err()) != connect.CodeUnavailable {
		t.Errorf("the stream ends with %v", stream.Err())
	}
	if at["a"] != 1699999030 || at["b"] != 1699999010 {
		t.Errorf("the series are at %v", at)
	}
}

// The Go client begins again where each series was, also for a series that has sent nothing yet.
func TestClientTailGetsRowsThatWereOutOfReach(t *testing.T) {
	o := newOutage(t, &rpc.Server{TailRound: 1}, &rpc.Server{})
	o.add("a", 1)
	o.add("b", 1)
	c, err := rpcclient.New(o.url, rpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.rows.Store(true) // for the first stream
	got := make(map[string][]float64)
	for r, err := range c.Tail(t.Context(), &rondov1.TailRequest{Start: "1699999000"}) {
		if err != nil {
			t.Fatal(err)
		}
		if got[r.Path] = append(got[r.Path], r.Value[1]...); len(got["b"]) > 0 {
			break
		}
	}
	if fmt.Sprint(got) != "map[a:[1] b:[1]]" || o.hits.Load() == 0 {
		t.Errorf("the rows are %v", got)
	}
}

// Latest had no rows, and no error, for series out of reach.
func TestLatestOutOfReachIsAnError(t *testing.T) {
	o := newOutage(t, &rpc.Server{})
	o.add("b", 1)
	for _, away := range []*atomic.Bool{&o.rows, &o.states} {
		away.Store(true)
		for _, m := range []*rondov1.LatestRequest{{Paths: []string{"a", "b"}}, {Prefix: "b"}} {
			if got, err := o.rpc.Latest(t.Context(), m); connect.CodeOf(err) != connect.CodeUnavailable {
				t.Errorf("%v: %v, %v", m, got, err)
			}
		}
		away.Store(false)
	}
}

// A counted counts what Fetch asks of a store. Where a series is on another node of a cluster, each
// of these is a call of that node.
type counted struct {
	core.Engine
	asked []string
}

func (c *counted) Lookup(path string) (core.Ref, error) {
	c.asked = append(c.asked, "Lookup")
	return c.Engine.Lookup(path)
}

func (c *counted) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	c.asked = append(c.asked, "Resolve")
	return c.Engine.Resolve(ctx, refs, fn)
}

func (c *counted) Lasts(ctx context.Context, refs []core.Ref) ([]core.LastTime, error) {
	c.asked = append(c.asked, "Lasts")
	return c.Engine.Lasts(ctx, refs)
}

func (c *counted) Info(ref core.Ref) (core.Info, error) {
	c.asked = append(c.asked, "Info")
	return c.Engine.Info(ref)
}

func (c *counted) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	c.asked = append(c.asked, "FetchMany")
	return c.Engine.FetchMany(ctx, spans, fn)
}

// A fetch asked the node that has the series five times, one after the other: twice for its
// definition, and for its last update by itself.
func TestFetchAsksForEverythingOnce(t *testing.T) {
	store := &counted{Engine: enginetest.Open(t)}
	_, h := (&rpc.Server{Store: store}).Handler(nil)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c := client(t, s.URL, false)
	create(t, c, "a")
	write(t, c, &rondov1.Sample{Path: "a", Update: "1699999500:5:5"})
	store.asked = nil
	if _, err := c.Fetch(t.Context(), &rondov1.FetchRequest{Path: "a", Start: "1699999000", End: "1699999600"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Lookup", "Info", "FetchMany"}; !slices.Equal(store.asked, want) {
		t.Errorf("asked for %v, want %v", store.asked, want)
	}
}
