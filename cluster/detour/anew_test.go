package detour_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// anew is a store in which somebody drops a series and makes it again, behind the first batch.
type anew struct {
	core.Engine
	spec    core.Spec
	batches int
}

func (a *anew) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	t.Begin()
	err := core.Append(ctx, a.Engine, b)
	if a.batches++; a.batches == 1 && err == nil {
		if err = core.Drop(ctx, a, a.spec.Path); err == nil {
			_, err = core.Create(ctx, a, a.spec)
		}
	}
	t.Complete(err)
	return nil
}

// A series gets another reference while its samples are delivered. The later ones go to the new
// one.
func TestSeriesIsMadeAnewMeanwhile(t *testing.T) {
	const samples = 20_000
	path := strings.Repeat("long/", 20) + "path"
	to := &anew{Engine: enginetest.OpenDir(t, t.TempDir(), core.Options{Sync: wal.SyncNone}), spec: *sample(path, 0).Make}
	b := open(t, t.TempDir(), detour.Options{}, nil)
	for i := range samples {
		add(t, b, 0, sample(path, int64(i+1)))
	}
	b.deliver(t, to, nil)
	if st := b.Figures(); st.Delivered != samples || st.Dropped != [detour.Reasons]uint64{} || to.batches < 3 {
		t.Errorf("%+v, %d batches", st, to.batches)
	}
	ref, err := to.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := core.Last(t.Context(), to, ref); err != nil || at != rra.Seconds(samples) {
		t.Errorf("the last sample is of %v, %v", at, err)
	}
}
