package peer_test

import (
	"context"
	"testing"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query"
)

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
