package search_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/search"
)

// A dumb store has metadata that is out of reach.
type dumb struct{ core.Engine }

func (dumb) ListMetadata(_ context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	return func(yield func(core.PathMetadata, error) bool) {
		if q.Path != "" {
			yield(core.PathMetadata{}, enginetest.ErrAway)
		}
	}
}

// A level showed a series whose unit is out of reach as one that has no unit.
func TestLevelSaysThatUnitsAreOutOfReach(t *testing.T) {
	s := enginetest.Open(t)
	made(t, s, "a/b")
	x := search.New(dumb{s})
	t.Cleanup(x.Close)
	if l, err := x.Level(t.Context(), "", 10, "", nil); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("the level is %+v, %v", l, err)
	}
}
