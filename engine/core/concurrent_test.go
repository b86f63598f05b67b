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

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// TestEverythingAtOnce appends, fetches, lists, creates, drops, renames and checkpoints at the same
// time; the rows then equal the model's, and a replay's.
func TestEverythingAtOnce(t *testing.T) {
	ctx := context.Background()
	seed := seedtest.One(t)
	dir := t.TempDir()
	o := core.Options{Memory: 3 << 20, CheckpointBytes: 64 << 10} // checkpoints and unloading all the time
	s := enginetest.OpenDir(t, dir, o)
	defs := []*rra.Definition{
		definition(t, "DS:a:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:40", "RRA:MAX:0.5:3:30"),
		definition(t, "DS:a:COUNTER:60:U:U", "DS:b:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:20", "RRA:LAST:0.5:6:10"),
		definition(t, "DS:a:GAUGE:60:U:U", "RRA:HWPREDICT:30:0.1:0.05:7"),
	}
	const workers, each = 4, 25
	rounds := seedtest.Often(40, 120)
	var appenders, others sync.WaitGroup
	done := make(chan struct{})
	all := make([][]*modelSeries, workers)
	for w := range workers {
		appenders.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			p := &program{t: t, r: r}
			var tickets [3]core.Ticket
			var batches [3]core.Batch
			for i := range rounds {
				if len(p.series) < each && i%4 == 0 {
					x := newModelSeries(pick(r, defs...), fmt.Sprintf("w%d/s%d", w, i), rra.Seconds(programStart))
					ref, err := s.Create(ctx, core.Spec{Path: x.path, Definition: x.m.Definition(), Start: rra.Seconds(programStart), Labels: []core.Label{{Name: "w", Value: fmt.Sprint(w)}}})
					if err != nil {
						t.Error(err)
						return
					}
					x.ref = ref
					p.series = append(p.series, x)
				}
				for k := range batches {
					batches[k].Reset()
					for _, rd := range p.batch() {
						_ = rd.x.append(rd)
						batches[k].AddText(rd.x.ref, rd.at, rd.values, rd.texts)
					}
					if err := s.Submit(ctx, &batches[k], &tickets[k]); err != nil {
						t.Error(err)
						return
					}
				}
				for k := range tickets {
					var rej *core.RejectedError
					if err := tickets[k].Wait(); err != nil && !errors.As(err, &rej) {
						t.Error(err)
						return
					}
				}
			}
			all[w] = p.series
		})
	}
	loop := func(fn func(r *rand.Rand, i int) error) {
		others.Go(func() {
			r := rand.New(rand.NewPCG(seed, 99))
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if err := fn(r, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	loop(func(r *rand.Rand, _ int) error { // list, and fetch what is there
		var refs []core.Ref
		for x, err := range s.Select(ctx, core.Query{Prefix: "w", Order: core.ByPath}) {
			if err != nil {
				return err
			}
			refs = append(refs, x.Ref)
		}
		for _, ref := range refs {
			if _, err := s.Info(ref); err != nil && !errors.Is(err, core.ErrNotFound) { // it may not be acknowledged yet
				return err
			}
		}
		err := s.FetchMany(ctx, core.Spans(refs, 0, programStart, programStart+1000), func(int, *core.Rows, error) {})
		if errors.Is(err, core.ErrNotFound) {
			err = nil
		}
		return err
	})
	loop(func(r *rand.Rand, _ int) error {
		for _, err := range s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "w", Value: fmt.Sprint(r.IntN(workers))}}, Order: core.ByRef}) {
			if err != nil {
				return err
			}
		}
		if _, err := s.Labels(ctx, core.LabelQuery{Name: "w"}); err != nil {
			return err
		}
		s.Stats()
		return s.Checkpoint(ctx)
	})
	loop(func(_ *rand.Rand, i int) error { // series that come and go
		a, b := fmt.Sprintf("tmp/%d", i), fmt.Sprintf("tmp/%d-renamed", i)
		ref, err := s.Create(ctx, core.Spec{Path: a, Definition: defs[i%len(defs)], Start: rra.Seconds(programStart)})
		if err != nil {
			return err
		}
		var batch core.Batch
		for k := range int64(5) {
			batch.Add(ref, rra.Seconds(programStart+10*k+10), rra.Int(1), rra.Int(2))
		}
		var rej *core.RejectedError
		if err := s.Append(ctx, &batch); err != nil && !errors.As(err, &rej) && !errors.Is(err, core.ErrShape) {
			return err
		}
		if err := s.Rename(ctx, a, b); err != nil {
			return err
		}
		return core.Drop(ctx, s, b)
	})
	appenders.Wait()
	close(done)
	others.Wait()
	if t.Failed() {
		return
	}
	for _, series := range all {
		compareModel(t, s, series)
	}
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

// The name by which a seasonal archive smooths comes from the record, even if the series is renamed
// before the record is applied.
func TestRenameWhileAppending(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	def := definition(t, "DS:a:GAUGE:60:U:U", "RRA:HWPREDICT:100:0.1:0.05:9")
	ref := mustCreate(t, s, "n0", def)
	r := rand.New(rand.NewPCG(seedtest.One(t), 5))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 60 {
			if err := s.Rename(ctx, fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i+1)); err != nil {
				t.Error(err)
			}
		}
	})
	var tickets [8]core.Ticket
	var batches [8]core.Batch
	at := int64(programStart)
	for range 60 {
		for k := range tickets {
			batches[k].Reset()
			for range 5 {
				at += 10
				batches[k].Add(ref, rra.Seconds(at), rra.Float(r.Float64()))
			}
			if err := s.Submit(ctx, &batches[k], &tickets[k]); err != nil {
				t.Fatal(err)
			}
		}
		for k := range tickets {
			if err := tickets[k].Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

// Readers see every acknowledged row, wherever a checkpoint is with it.
func TestReadersDuringCheckpoints(t *testing.T) {
	ctx := context.Background()
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{NoBackground: true})
	const rows = 200
	def := definition(t, "DS:a:GAUGE:60:U:U", fmt.Sprintf("RRA:AVERAGE:0.5:1:%d", rows))
	var refs []core.Ref
	for i := range 3 {
		refs = append(refs, mustCreate(t, s, fmt.Sprint(i), def))
	}
	var acked atomic.Int64 // samples of each series
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				n := acked.Load()
				err := s.FetchMany(ctx, core.Spans(refs, 0, programStart, programStart+10*n), func(_ int, got *core.Rows, err error) {
					if err != nil {
						return
					}
					now := acked.Load() + 40 // appended meanwhile, acknowledged or not
					for i, v := range got.Values {
						if k := int64(i); k > now-rows && v != float64(k) {
							t.Errorf("row %d of %d: %v", k, n, v)
							return
						}
					}
				})
				if err != nil {
					t.Error(err)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	for range seedtest.Often(20, 60) {
		var b core.Batch
		n := acked.Load()
		for range 20 {
			for _, ref := range refs {
				b.Add(ref, rra.Seconds(programStart+10*(n+1)), rra.Float(float64(n)))
			}
			n++
		}
		mustAppend(t, s, &b)
		acked.Store(n)
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

// TestShardsSleep: records wake the shards that they concern and no other. The position of the
// store moves on nevertheless.
func TestShardsSleep(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // as many shards
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{NoBackground: true})
	ref, err := s.Create(t.Context(), core.Spec{
		Path: "a", Definition: definition(t, "DS:a:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:40"), Start: rra.Seconds(programStart),
	})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Deliveries()
	const most = 50
	var b core.Batch
	for i := range int64(most) {
		b.Reset()
		b.Add(ref, rra.Seconds(programStart+1+i), rra.Int(i))
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	after := s.Deliveries()
	woken := 0
	for i := range after {
		switch n := after[i] - before[i]; n {
		case 0:
		case most:
			woken++
		default:
			t.Errorf("shard %d was woken %d times for %d records", i, n, most)
		}
	}
	if woken != 1 {
		t.Errorf("%d shards were woken, want 1", woken)
	}
	if p := s.Position(); p != s.Acknowledged() {
		t.Errorf("position %d, want %d", p, s.Acknowledged())
	}
}
