package core_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal/waltest"
)

// dropAll returns how many of list were dropped.
func dropAll(ctx context.Context, s *core.Store, list []core.Dropping) (n int, err error) {
	out, err := s.Drop(ctx, list)
	for _, kept := range out {
		if kept == nil {
			n++
		}
	}
	return n, err
}

// TestDropMany: paths and references in one call, each with an outcome of its own.
func TestDropMany(t *testing.T) {
	s := enginetest.Open(t)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	a, b := mustCreate(t, s, "a", def), mustCreate(t, s, "b", def)
	out, err := s.Drop(t.Context(), []core.Dropping{{Path: "a"}, {Path: "a"}, {Path: ".."}, {Ref: b, Before: 1}, {Ref: 1 << 60}, {Ref: b, Before: core.MaxTime}})
	if err != nil {
		t.Fatal(err)
	}
	for i, ok := range []bool{
		out[0] == nil, errors.Is(out[1], core.ErrNotFound), errors.Is(out[2], core.ErrInvalid),
		out[3] != nil && !errors.Is(out[3], core.ErrNotFound), errors.Is(out[4], core.ErrNotFound), out[5] == nil,
	} {
		if !ok {
			t.Errorf("drop %d: %v", i, out[i])
		}
	}
	if _, err := s.Series(a); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a is there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := dropAll(ctx, s, []core.Dropping{{Path: "a"}, {Path: "b"}}); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d series were dropped by a call that was given up: %v", n, err)
	}
}

// TestDropSilentAgainstAppend: a series is dropped while samples for it arrive, but never one that
// has been acknowledged.
func TestDropSilentAgainstAppend(t *testing.T) {
	s := enginetest.Open(t)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	var before atomic.Int64 // no sample at or before this is of interest
	before.Store(programStart - 1)
	stop := make(chan struct{})
	var running sync.WaitGroup
	var dropped atomic.Int64
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			ref, err := s.Lookup("x")
			if errors.Is(err, core.ErrNotFound) {
				continue
			}
			if err != nil {
				t.Errorf("lookup: %v", err)
				return
			}
			n, err := dropAll(t.Context(), s, []core.Dropping{{Ref: ref, Before: rra.Seconds(before.Load())}})
			if err != nil {
				t.Errorf("drop: %v", err)
				return
			}
			dropped.Add(int64(n))
		}
	})
	var b core.Batch
	made, stored := 0, 0
	for at := int64(programStart + 1); (stored < 300 || dropped.Load() < 20) && at < programStart+100_000; at++ {
		ref, err := s.Lookup("x")
		if errors.Is(err, core.ErrNotFound) {
			ref = mustCreate(t, s, "x", def)
			made++
		} else if err != nil {
			t.Fatal(err)
		}
		before.Store(at - 1)
		b.Reset()
		b.Add(ref, rra.Seconds(at), rra.Float(1))
		err = s.Append(t.Context(), &b)
		var refused *core.RejectedError
		if errors.As(err, &refused) && errors.Is(refused.First[0].Err, core.ErrNotFound) {
			continue // it was dropped before
		}
		if err != nil {
			t.Fatal(err)
		}
		stored++
		for range 3 {
			if last, err := s.Last(ref); err != nil || last != rra.Seconds(at) {
				t.Fatalf("last is %d, %v after a sample at %d was acknowledged", last, err, at)
			}
		}
	}
	close(stop)
	running.Wait()
	if stored < 300 || dropped.Load() < 20 {
		t.Errorf("%d samples stored, %d drops: the two have not met", stored, dropped.Load())
	}
}

// TestDropSilentLeavesWhatTookItsPlace: a series that an import has replaced, acknowledged while
// the drop of the old one was on its way, stays. The drop named its path, and took the new one.
func TestDropSilentLeavesWhatTookItsPlace(t *testing.T) {
	log := waltest.NewStream(1)
	s := mustOpen(t, t.TempDir(), onStream(core.Options{NoBackground: true}, log))
	f := newFeeder(t, s, 2)
	f.mustFeed(10)
	c, err := s.Export(t.Context(), f.refs[1])
	if err != nil {
		t.Fatal(err)
	}
	c.Path = "host/0"
	log.Hold()
	imported, dropped := make(chan error, 1), make(chan error, 1)
	go func() {
		out, err := s.Import(t.Context(), []core.Copy{c}, true)
		imported <- errors.Join(err, out[0].Err)
	}()
	for s.Queued() == 0 {
		runtime.Gosched()
	}
	first := s.Queued()
	go func() {
		n, err := dropAll(t.Context(), s, []core.Dropping{{Ref: f.refs[0], Before: f.at()}})
		if n != 0 {
			err = errors.Join(err, errors.New("the drop says that it has dropped"))
		}
		dropped <- err
	}()
	for s.Queued() == first {
		runtime.Gosched()
	}
	log.Release()
	if err := errors.Join(<-imported, <-dropped); err != nil {
		t.Error(err)
	}
	if _, err := s.Lookup("host/0"); err != nil {
		t.Errorf("the imported series: %v", err)
	}
	enginetest.Check(t, s)
	mustClose(t, s.Close())
}

// TestDropSilentInBusyGroup: series are dropped though samples for others of their group are always
// on their way. They stayed.
func TestDropSilentInBusyGroup(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 50)
	f.mustFeed(1)
	last := f.at()
	stop := make(chan struct{})
	var running sync.WaitGroup
	var fed [4]atomic.Int64
	for i := range int64(4) {
		running.Go(func() {
			for at := int64(1); ; at++ {
				select {
				case <-stop:
					return
				default:
				}
				var b core.Batch
				b.Add(f.refs[i], last+rra.Seconds(at), rra.Float(1))
				if err := s.Append(t.Context(), &b); err != nil {
					t.Error(err)
					return
				}
				fed[i].Add(1)
			}
		})
	}
	for i := range fed { // each of them, for one that has not begun is silent
		for fed[i].Load() < 10 && !t.Failed() {
			runtime.Gosched()
		}
	}
	var list []core.Dropping
	for _, ref := range f.refs {
		list = append(list, core.Dropping{Ref: ref, Before: last})
	}
	n, err := dropAll(t.Context(), s, list)
	close(stop)
	running.Wait()
	if n != 46 || err != nil {
		t.Errorf("%d of 46 silent series dropped, %v", n, err)
	}
}
