package detour_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// hearing is a store that calls applied before anybody hears that it has applied a batch.
type hearing struct {
	core.Engine
	applied func()
}

func (h hearing) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	t.Begin()
	err := core.Append(ctx, h.Engine, b)
	h.applied()
	t.Complete(err)
	return nil
}

// Node and replica are killed together at each step of a delivery, also between what the replica
// has applied and the note of it in the spool. Both start again, and each count is there once.
func TestKilledBetweenSentAndNoted(t *testing.T) {
	const begin, samples = 1000, 12
	for _, window := range []time.Duration{0, 5 * time.Second} {
		o := core.Options{Reorder: window}
		store, model := t.TempDir(), enginetest.OpenDir(t, t.TempDir(), o)
		leads, folder := enginetest.OpenDir(t, store, o), filepath.Join(t.TempDir(), "spool")
		type image struct{ step, spool, store string }
		var images []image
		kill := func(step string) {
			x := image{step, filepath.Join(t.TempDir(), "spool"), filepath.Join(t.TempDir(), "store")}
			for to, from := range map[string]string{x.spool: folder, x.store: store} {
				if err := os.CopyFS(to, os.DirFS(from)); err != nil {
					t.Error(err)
				}
			}
			images = append(images, x)
		}
		paths := []string{"old", "new"}
		count := func(path string, at int64) detour.Sample {
			d := *definition
			d.Sources = []rra.DataSource{{Name: "n", Kind: rra.Absolute, Heartbeat: 10, Min: math.NaN(), Max: math.NaN()}}
			return detour.Sample{
				Path: path, At: rra.Seconds(at), Values: []rra.Value{rra.Int(at)},
				Make: &core.Spec{Path: path, Definition: &d, Start: rra.Seconds(begin)},
			}
		}
		take := func(e core.Engine, x detour.Sample) {
			ref, err := e.Lookup(x.Path)
			if err != nil {
				ref, err = core.Create(t.Context(), e, *x.Make)
			}
			var b core.Batch
			b.Add(ref, x.At, x.Values...)
			if err == nil {
				err = core.Append(t.Context(), e, &b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		take(leads, count("old", begin+1))
		take(model, count("old", begin+1))
		b := open(t, folder, detour.Options{}, kill)
		for i := range int64(samples) {
			for _, path := range paths {
				x := count(path, begin+2+i)
				add(t, b, 0, x)
				take(model, x)
			}
		}
		images = nil // the ones taken while samples came do not matter
		b.deliver(t, hearing{leads, func() { kill("applied") }}, nil)
		var steps []string
		for _, x := range images {
			steps = append(steps, x.step)
			again := enginetest.OpenDir(t, x.store, o)
			open(t, x.spool, detour.Options{}, nil).deliver(t, again, nil)
			for _, path := range paths {
				if got, want := content(t, again, path), content(t, model, path); !slices.Equal(got, want) {
					t.Errorf("window %v, killed behind %q: %s has\n%v, want\n%v", window, x.step, path, got, want)
				}
			}
		}
		if !slices.Equal(steps, []string{"taken", "made", "applied", "delivered", "truncated", "renamed"}) {
			t.Errorf("the delivery had the steps %v", steps)
		}
	}
}

// content returns the bits of a series: its state and all rows.
func content(t *testing.T, e core.Engine, path string) (bits []uint64) {
	t.Helper()
	ref, err := e.Lookup(path)
	if err == nil {
		err = e.Flush(t.Context(), []core.Ref{ref})
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.Export(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	bits = slices.Clone(x.State.W)
	for _, rows := range x.Rows {
		for _, v := range rows {
			bits = append(bits, math.Float64bits(v))
		}
	}
	return bits
}
