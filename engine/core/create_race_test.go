package core_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestCreateBatchAmongCheckpoints has several goroutines make the same series in batches, while
// checkpoints move names from memory to the database. Each name is made once, and whoever comes
// late is told the series that has it.
func TestCreateBatchAmongCheckpoints(t *testing.T) {
	const creators, batches, size = 3, 60, 40
	d := gaugeDefinition(t)
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	refs := make([][batches * size]core.Ref, creators)
	made := make([][batches * size]bool, creators)
	var creating, writing sync.WaitGroup
	done := make(chan struct{})
	for c := range creators {
		order := rand.New(rand.NewPCG(1, uint64(c))).Perm(batches)
		creating.Go(func() {
			for _, batch := range order {
				var names []string
				for i := range size {
					names = append(names, fmt.Sprint("n", batch*size+i))
				}
				out, err := s.CreateBatch(t.Context(), specsOf(d, names...))
				if err != nil {
					t.Error(err)
					return
				}
				for i := range out {
					if n := batch*size + i; out[i].Err == nil || errors.Is(out[i].Err, core.ErrExists) {
						refs[c][n], made[c][n] = out[i].Ref, out[i].Err == nil
					} else {
						t.Error(out[i].Err)
					}
				}
			}
		})
	}
	writing.Go(func() {
		for {
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	creating.Wait()
	close(done)
	writing.Wait()
	for n := range refs[0] {
		makers := 0
		for c := range creators {
			if made[c][n] {
				makers++
			}
			if refs[c][n] != refs[0][n] {
				t.Errorf("n%d is series %d and %d", n, refs[0][n], refs[c][n])
			}
		}
		if got, err := s.Lookup(fmt.Sprint("n", n)); makers != 1 || err != nil || got != refs[0][n] {
			t.Errorf("n%d: made %d times; found %d, %v; want %d", n, makers, got, err, refs[0][n])
		}
	}
	mustClose(t, s.Close())
}

// TestCreateBatchWhoseNamesAreTakenMeanwhile takes the name of a batch after the batch has looked
// it up, and moves it from memory to the database before the batch is applied.
func TestCreateBatchWhoseNamesAreTakenMeanwhile(t *testing.T) {
	for name, checkpoint := range map[string]bool{"in memory": false, "in the database": true} {
		t.Run(name, func(t *testing.T) {
			d := gaugeDefinition(t)
			var s *core.Store
			var taken core.Ref
			armed := false
			s = mustOpen(t, t.TempDir(), core.Options{NoBackground: true}.WithHook(func(at string) {
				if !armed || at != "catalogue-found" {
					return
				}
				armed = false
				taken = mustCreate(t, s, "name", d)
				if checkpoint {
					if err := s.Checkpoint(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}))
			armed = true
			out, err := s.CreateBatch(t.Context(), specsOf(d, "other", "name"))
			if err != nil || out[0].Err != nil {
				t.Fatal(err, out[0].Err)
			}
			if !errors.Is(out[1].Err, core.ErrExists) || out[1].Ref != taken || taken == 0 {
				t.Errorf("%+v, want ErrExists with %d", out[1], taken)
			}
			if n := s.Stats().Series; n != 2 {
				t.Errorf("%d series, want 2", n)
			}
			mustClose(t, s.Close())
		})
	}
}
