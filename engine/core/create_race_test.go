package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestCreateBatchAmongCheckpoints has several goroutines make the same series in batches, while
// checkpoints move names from memory to the database. Each name is made once, and whoever comes
// late gets the series that has it.
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

// A heldShard is a store whose shard is held up behind a record that it has applied, while a series
// called new is put into the catalogue and cannot come into its group.
type heldShard struct {
	*core.Store
	olds    []core.Ref
	release func() // lets the shard go on
	made    chan error
}

func holdShard(t *testing.T) *heldShard {
	t.Helper()
	var armed atomic.Bool
	held, released := make(chan struct{}), make(chan struct{})
	d := gaugeDefinition(t)
	h := &heldShard{release: sync.OnceFunc(func() { close(released) }), made: make(chan error, 2)}
	h.Store = mustOpen(t, t.TempDir(), core.Options{NoBackground: true}.WithHook(func(at string) {
		if at == "record-applied" && armed.CompareAndSwap(true, false) {
			close(held)
			<-released
		}
	}))
	t.Cleanup(h.release)
	for i := range 2 {
		h.olds = append(h.olds, mustCreate(t, h.Store, fmt.Sprint("old", i), d))
	}
	armed.Store(true)
	go func() {
		var b core.Batch
		b.Add(h.olds[0], rra.Seconds(1_000_000_010), rra.Float(1))
		h.made <- h.Append(context.Background(), &b)
	}()
	<-held
	go func() {
		_, err := h.Create(context.Background(), core.Spec{Path: "new", Definition: d, Start: rra.Seconds(1_000_000_000)})
		h.made <- err
	}()
	for h.Arriving() == 0 {
		runtime.Gosched()
	}
	return h
}

// goOn releases the shard, and waits for what was held up.
func (h *heldShard) goOn(t *testing.T) {
	t.Helper()
	h.release()
	for range 2 {
		if err := <-h.made; err != nil {
			t.Error(err)
		}
	}
}

// TestAppendToSeriesOnItsWay appends to a series whose creation is in the log and not yet applied,
// together with others: the samples of all are stored.
func TestAppendToSeriesOnItsWay(t *testing.T) {
	h := holdShard(t)
	fresh := h.olds[1] + 1
	tickets, batches := [2]core.Ticket{}, [2]core.Batch{}
	for i := range batches {
		at := rra.Seconds(1_000_000_020 + 10*int64(i))
		for _, ref := range append(h.olds, fresh) {
			batches[i].Add(ref, at, rra.Float(float64(ref)+float64(i)))
		}
		if err := h.Submit(t.Context(), &batches[i], &tickets[i]); err != nil {
			t.Fatalf("batch %d, with a sample of a series on its way: %v", i, err)
		}
	}
	h.goOn(t)
	for i := range tickets {
		if err := tickets[i].Wait(); err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if ref, err := h.Lookup("new"); ref != fresh || err != nil {
		t.Fatalf("the new series is %d, %v, want %d", ref, err, fresh)
	}
	for _, ref := range append(h.olds, fresh) {
		got, err := h.Info(ref)
		if err != nil {
			t.Fatal(err)
		}
		last := got.Machine.LastReading(&got.State, 0)
		at, err := h.Last(ref)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint(uint64(ref) + 1); at != rra.Seconds(1_000_000_030) || last != want {
			t.Errorf("series %d: %s at %d, want %s at %d", ref, last, at, want, rra.Seconds(1_000_000_030))
		}
	}
	mustClose(t, h.Close())
}

// TestCreateAwaitsSeriesOnItsWay makes a series that somebody else is making: whoever comes second
// gets it when it can be read.
func TestCreateAwaitsSeriesOnItsWay(t *testing.T) {
	h := holdShard(t)
	read := make(chan error, 1)
	go func() {
		ref, err := h.Create(context.Background(), core.Spec{Path: "new", Definition: gaugeDefinition(t), Start: rra.Seconds(1_000_000_000)})
		if errors.Is(err, core.ErrExists) {
			_, err = h.Info(ref)
		}
		read <- err
	}()
	select {
	case err := <-read:
		t.Errorf("the second one was told before the series was there: %v", err)
		read <- nil
	case <-time.After(50 * time.Millisecond): // a program that does not wait is found most times
	}
	h.goOn(t)
	if err := <-read; err != nil {
		t.Error(err)
	}
	mustClose(t, h.Close())
}
