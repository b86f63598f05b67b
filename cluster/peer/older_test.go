package peer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

// An olderNode serves as a node does that knows neither spans nor open rows.
type olderNode struct{ *peer.Server }

func (o olderNode) Fetch(ctx context.Context, req *connect.Request[peerv1.FetchRequest], stream *connect.ServerStream[peerv1.FetchResponse]) error {
	req.Msg.Spans = nil
	return o.Server.Fetch(ctx, req, stream)
}

// withoutOpen is an engine that does not know open rows.
type withoutOpen struct{ core.Engine }

func (e withoutOpen) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	var first error
	for i, x := range spans {
		var rows core.Rows
		err := fmt.Errorf("archive %d: %w", x.Archive, core.ErrInvalid)
		if x.Archive != core.OpenRow {
			rows, err = core.Fetch(ctx, e.Engine, x.Ref, x.Archive, x.Start, x.End)
		}
		if fn(i, &rows, err); first == nil {
			first = err
		}
	}
	return first
}

// A node of an older version answers joined reads: all closed rows are there, and what lies behind
// the last step is missing only if the node does not know it.
func TestOlderNodesAnswerJoinedReads(t *testing.T) {
	s := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:50", "RRA:AVERAGE:0.5:6:50", "RRA:AVERAGE:0.5:30:100"})
	if err != nil {
		t.Fatal(err)
	}
	var refs []core.Ref
	var b core.Batch
	const last = 20_004
	for i, first := range []int64{10_004, 19_904, 20_004} { // an old series, and young ones
		ref, err := core.Create(t.Context(), s, core.Spec{Path: fmt.Sprint(i), Definition: d, Start: rra.Seconds(first - 10)})
		if err != nil {
			t.Fatal(err)
		}
		for at := first; at <= last; at += 10 {
			b.Add(ref, rra.Seconds(at), rra.Int(at%97+int64(i)))
		}
		refs = append(refs, ref)
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	joined := func(e core.Engine) (all []*query.Table) {
		opens, err := query.Opens(t.Context(), e, refs)
		if err != nil {
			t.Fatal(err)
		}
		var plans []*query.Points
		for i, ref := range refs {
			p, err := query.NewPoints(core.Series{Ref: ref, Definition: d}, &opens[i], query.Request{Start: last - 12_000, End: last, Resolution: 300}, 0)
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, p)
		}
		all, errs, err := query.ReadPoints(t.Context(), e, plans, func(int64) error { return nil })
		if err = errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := joined(s)
	for name, e := range map[string]core.Engine{"spans": s, "spans and open rows": withoutOpen{s}} {
		_, h := peerv1.NewPeerHandler(olderNode{of(e)})
		web := httptest.NewUnstartedServer(h)
		web.Config.Protocols = new(http.Protocols)
		web.Config.Protocols.SetUnencryptedHTTP2(true)
		web.Start()
		t.Cleanup(web.Close)
		got := joined(partition(t, web.URL, peer.Options{}))
		for i := range got {
			a, b := got[i], want[i]
			n := len(b.Values) - 1
			if e != core.Engine(s) { // the open row is in the last point
				if b.End-a.End > 10 || i < 2 && math.IsNaN(a.Values[n]) {
					t.Errorf("%s, series %d: it ends at %d, want %d: %v", name, i, a.End, b.End, a.Values)
				}
				a.End, a.Values[n] = b.End, b.Values[n]
			}
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("without %s, series %d:\n%v, want\n%v", name, i, a, b)
			}
		}
	}
}

// What a node leaves out is an error, not a series without rows.
func TestRowsThatAreLeftOutAreMissed(t *testing.T) {
	s := enginetest.Open(t)
	refs := []core.Ref{gauge(t, s, "a"), gauge(t, s, "b")}
	half := &halfEngine{Engine: s}
	c := partition(t, serve(t, of(half)).URL, peer.Options{})
	for _, spans := range [][]core.Span{
		core.Spans(refs, 0, 1000, 1010), {{Ref: refs[0], End: 10}, {Ref: refs[1], End: 20}}, core.Spans(refs, core.OpenRow, 0, 0),
	} {
		if err := c.FetchMany(t.Context(), spans, func(int, *core.Rows, error) {}); err == nil {
			t.Errorf("%v: half of the answers, and no error", spans)
		}
	}
	if opens, err := query.Opens(t.Context(), half, refs); err == nil {
		t.Errorf("half of the open rows, and no error: %v", opens)
	}
}

// A halfEngine leaves the second series out.
type halfEngine struct{ core.Engine }

func (e *halfEngine) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	return e.Engine.FetchMany(ctx, spans[:1], fn)
}
