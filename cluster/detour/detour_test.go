package detour_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A batch for two partitions: what is for the one without a leader waits in the spool, and the rest
// is stored meanwhile.
func TestPartitionWithoutLeaderHoldsUpNoOther(t *testing.T) {
	for _, m := range []mode{nobody, deposed, silent} {
		w := newWorld(t, 2).open()
		refs := w.series()
		must(t, w.submit(begin+1, 1, refs...))
		w.seats[0].set(m)
		for i := range int64(5) {
			must(t, w.submit(begin+2+i, 1, refs...))
			if got := w.last(1); got != begin+2+i {
				t.Errorf("mode %d: the other partition is at %d, want %d", m, got-begin, 2+i)
			}
		}
		if st := w.detour.Figures(); st.Spooled == 0 || st.Bytes == 0 || st.Partitions != 1 {
			t.Errorf("mode %d: %+v", m, st)
		}
		if at := w.last(0); at != begin+1 {
			t.Errorf("mode %d: the partition without leader is at %d", m, at-begin)
		}
		w.seats[0].set(leads)
		w.settle()
		if at := w.last(0); at != begin+6 {
			t.Errorf("mode %d: after the delivery the partition is at %d", m, at-begin)
		}
		if st := w.detour.Figures(); st.Dropped != [detour.Reasons]uint64{} {
			t.Errorf("mode %d: dropped %+v", m, st)
		}
	}
}

// kinds are series of whose readings a second one of the same time would count again, if it were
// taken.
func kinds(path string) core.Spec {
	x := gauge(path)
	x.Definition.Step = 10
	x.Definition.Sources = nil
	for name, kind := range map[string]rra.Kind{"a": rra.Absolute, "c": rra.Counter, "d": rra.DCounter, "g": rra.Gauge} {
		ds := gauge(path).Definition.Sources[0]
		ds.Name, ds.Kind = name, kind
		x.Definition.Sources = append(x.Definition.Sources, ds)
	}
	slices.SortFunc(x.Definition.Sources, func(a, b rra.DataSource) int { return int(a.Name[0]) - int(b.Name[0]) })
	return x
}

// Leaders come and go in every way while senders send. Afterwards each series has what a store has
// that got each sample once, bit for bit. With a reorder window nothing is different.
func TestEachSampleCountsOnce(t *testing.T) {
	for _, window := range []time.Duration{0, 5 * time.Second} {
		const partitions, senders, rounds = 3, 3, 150
		w := newWorld(t, partitions)
		for _, s := range w.seats {
			s.store = enginetest.OpenDir(t, t.TempDir(), core.Options{Sync: wal.SyncNone, Reorder: window})
			s.Engine = s.store
		}
		w.open()
		model := enginetest.OpenDir(t, t.TempDir(), core.Options{Sync: wal.SyncNone, Reorder: window})
		done := make(chan struct{})
		var chaos, all sync.WaitGroup
		chaos.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(window)))
			for {
				select {
				case <-done:
					return
				case <-time.After(3 * time.Millisecond):
					w.seats[rnd.IntN(partitions)].set(mode(rnd.IntN(5)))
				}
			}
		})
		paths := func(k int) (list []string) {
			for p := range partitions {
				list = append(list, pathIn(p, partitions, 2*k), pathIn(p, partitions, 2*k+1))
			}
			return list
		}
		for k := range senders {
			all.Go(func() { sendAll(t, w, model, paths(k), rounds, uint64(k)) })
		}
		all.Wait()
		close(done)
		chaos.Wait()
		for _, s := range w.seats {
			s.set(leads)
		}
		w.settle()
		for k := range senders {
			for i, path := range paths(k) {
				same(t, w.seats[i/2].store, model, path)
			}
		}
		st := w.detour.Figures()
		if st.Dropped != [detour.Reasons]uint64{} || st.Spooled == 0 {
			t.Errorf("%+v", st)
		}
		t.Logf("window %v: %d samples, %d went through the spool, %d of them were late", window, senders*rounds*2*partitions, st.Spooled, st.Late)
	}
}

// sendAll sends a sample of each series in each round through the detour, several batches at a
// time, and gives each to the model once.
func sendAll(t *testing.T, w *world, model core.Engine, paths []string, rounds int, seed uint64) {
	type sent struct {
		b core.Batch
		t core.Ticket
	}
	rnd := rand.New(rand.NewPCG(seed, 2))
	refs, modelRefs := make([]core.Ref, len(paths)), make([]core.Ref, len(paths))
	resolve := func() {
		w.detour.Find(context.Background(), paths, func(i int, s core.Series, err error) {
			if refs[i] = s.Ref; err != nil {
				out, _ := w.detour.CreateBatch(context.Background(), []core.Spec{kinds(paths[i])})
				if refs[i] = out[0].Ref; refs[i] == 0 {
					t.Errorf("%s: %v", paths[i], out[0].Err)
				}
			}
		})
	}
	for i, path := range paths {
		var err error
		if modelRefs[i], err = core.Create(context.Background(), model, kinds(path)); err != nil {
			t.Error(err)
		}
	}
	resolve()
	var flying []*sent
	wait := func(x *sent) {
		err := x.t.Wait()
		r, ok := errors.AsType[*core.RejectedError](err)
		switch {
		case err == nil:
		case ok && r.Other == 0 && errors.Is(err, core.ErrNotFound):
			resolve() // the series of a promise is there
		case ok && r.Other == 0: // late: a leader that was silent has stored it after all
		default:
			t.Errorf("sender %d: %v", seed, err)
		}
	}
	at := int64(begin)
	for n := range rounds {
		at += 1 + rnd.Int64N(15)
		x := new(sent)
		var b core.Batch
		for i := range paths {
			values := []rra.Value{rra.Int(int64(rnd.IntN(100))), rra.Int(int64(n * 1000)), rra.Float(float64(n)), rra.Float(rnd.Float64())}
			x.b.Add(refs[i], rra.Seconds(at), values...)
			b.Add(modelRefs[i], rra.Seconds(at), values...)
		}
		if err := core.Append(context.Background(), model, &b); err != nil {
			t.Errorf("model: %v", err)
		}
		if err := w.detour.Submit(context.Background(), &x.b, &x.t); err != nil {
			t.Errorf("submit: %v", err)
			return
		}
		if flying = append(flying, x); len(flying) > 3 {
			wait(flying[0])
			flying = flying[1:]
		}
	}
	for _, x := range flying {
		wait(x)
	}
}

// same compares a series of two stores: its state and all its rows.
func same(t *testing.T, s, model core.Engine, path string) {
	t.Helper()
	var got [2]core.Copy
	for i, e := range []core.Engine{s, model} {
		ref, err := e.Lookup(path)
		must(t, err)
		must(t, e.Flush(t.Context(), []core.Ref{ref}))
		got[i], err = e.Export(t.Context(), ref)
		must(t, err)
	}
	bits := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
	}
	if !slices.Equal(got[0].State.W, got[1].State.W) || !slices.EqualFunc(got[0].Rows, got[1].Rows, bits) {
		t.Errorf("%s differs:\n%v\n%v\nstates\n%x\n%x", path, got[0].Rows, got[1].Rows, got[0].State.W, got[1].State.W)
	}
}

// A series that is new while its partition has no leader is made as its sender and the policy said,
// when there is one. Its sender then has to resolve its names again.
func TestNewSeriesWithoutLeader(t *testing.T) {
	w := newWorld(t, 2).open()
	w.seats[0].set(nobody)
	spec := gauge(pathIn(0, 2, 0))
	spec.Labels = []core.Label{{Name: "host", Value: "web1"}}
	w.detour.Find(t.Context(), []string{spec.Path, "nothing", pathIn(1, 2, 0)}, func(i int, _ core.Series, err error) {
		if want := []error{core.ErrUnavailable, core.ErrNotFound, core.ErrNotFound}[i]; w.seatOf("nothing") == 1 && !errors.Is(err, want) {
			t.Errorf("path %d: %v", i, err)
		}
	})
	made := w.create(spec)
	if made.Err != nil || made.Ref == 0 {
		t.Fatalf("%+v", made)
	}
	if again := w.create(spec); again.Ref != made.Ref || !errors.Is(again.Err, core.ErrExists) {
		t.Errorf("again: %+v", again)
	}
	if s, err := core.SeriesOf(t.Context(), w.detour, made.Ref); err != nil || s.Path != spec.Path || s.Definition.Step != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if bad := w.create(core.Spec{Path: spec.Path + "x/../y", Definition: spec.Definition}); w.seatOf("x") == 0 && bad.Err == nil {
		t.Errorf("a path that no series can have: %+v", bad)
	}
	must(t, w.submit(begin+1, 1, made.Ref))
	must(t, w.submit(begin+2, 2, made.Ref))
	w.seats[0].set(leads)
	w.settle()
	if at := w.last(0); at != begin+2 {
		t.Errorf("the series is at %d", at-begin)
	}
	err := w.submit(begin+3, 3, made.Ref)
	if r, ok := errors.AsType[*core.RejectedError](err); !ok || r.Late+r.Other != 0 || r.Accepted != 1 || !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a promise that was kept: %v", err)
	}
	w.settle()
	if at := w.last(0); at != begin+3 {
		t.Errorf("the series is at %d", at-begin)
	}
	ref, err := w.detour.Lookup(spec.Path)
	must(t, err)
	if s, err := core.SeriesOf(t.Context(), w.router, ref); err != nil || !slices.Equal(s.Labels, spec.Labels) {
		t.Errorf("%+v, %v", s, err)
	}
	must(t, w.submit(begin+4, 4, ref))
	w.seats[0].set(nobody)
	if next := w.create(spec); next.Ref != made.Ref || !errors.Is(next.Err, core.ErrExists) {
		t.Errorf("%+v", next)
	}
}

// seatOf returns the partition of a path, of two.
func (w *world) seatOf(path string) int {
	for p := range w.seats {
		for n := range 50 {
			if pathIn(p, len(w.seats), n) == path {
				return p
			}
		}
	}
	return -1
}

// What is in the spool when the process ends is delivered by the next one.
func TestSpoolSurvivesRestart(t *testing.T) {
	w := newWorld(t, 2).open()
	refs := w.series()
	w.seats[0].set(nobody)
	must(t, w.submit(begin+1, 1, refs...))
	made := w.create(gauge(pathIn(0, 2, 1)))
	must(t, w.submit(begin+2, 2, refs[0], made.Ref))
	must(t, w.detour.Close())
	w.open()
	if st := w.detour.Figures(); st.Bytes == 0 || st.Partitions != 1 {
		t.Fatalf("%+v", st)
	}
	// The names are not known any more: nobody but the partition could know.
	must(t, w.submit(begin+3, 3, refs...))
	if st := w.detour.Figures(); st.Dropped[detour.NoName] != 1 {
		t.Errorf("%+v", st)
	}
	w.seats[0].set(leads)
	w.settle()
	if at := w.last(0); at != begin+2 {
		t.Errorf("the series is at %d", at-begin)
	}
	if _, err := w.seats[0].store.Lookup(pathIn(0, 2, 1)); err != nil {
		t.Error(err)
	}
}

// A spool that is full drops and counts. So does a server without a spool. Nothing waits.
func TestWithoutRoom(t *testing.T) {
	w := newWorld(t, 1)
	w.bytes = 2000
	w.open()
	ref := w.series()[0]
	w.seats[0].set(nobody)
	for i := range int64(200) {
		must(t, w.submit(begin+1+i, 1, ref))
	}
	fresh := w.create(gauge(pathIn(0, 1, 1)))
	must(t, w.submit(begin+1, 1, fresh.Ref))
	st := w.detour.Figures()
	if st.Dropped[detour.Full]+st.Spooled+st.Dropped[detour.NewSeries] != 201 || st.Dropped[detour.Full] < 100 || st.Spooled < 10 {
		t.Errorf("%+v", st)
	}
	w.seats[0].set(leads)
	w.settle()
	if at := w.last(0) - begin; at != int64(st.Spooled) {
		t.Errorf("the series is at %d of %d", at, st.Spooled)
	}
	must(t, w.submit(begin+1000, 1, ref))

	none := newWorld(t, 2).begin()
	refs := none.series()
	none.seats[0].set(nobody)
	must(t, none.submit(begin+1, 1, refs...))
	if st := none.detour.Figures(); st.Dropped[detour.NoSpool] != 1 || none.last(1) != begin+1 {
		t.Errorf("%+v", st)
	}
	if made := none.create(gauge(pathIn(0, 2, 1))); !errors.Is(made.Err, core.ErrUnavailable) {
		t.Errorf("%+v", made)
	}
}

// The memory of promises is bounded. Names beyond their bound are asked for where a replica answers.
func TestBounds(t *testing.T) {
	w := newWorld(t, 1)
	w.options.PromiseBytes, w.options.Names = 5000, 1
	w.open()
	first, second := w.create(gauge(pathIn(0, 1, 0))), w.create(gauge(pathIn(0, 1, 1)))
	w.seats[0].set(deposed)
	must(t, w.submit(begin+1, 1, first.Ref, second.Ref))
	if st := w.detour.Figures(); st.Spooled != 2 || st.Dropped != [detour.Reasons]uint64{} {
		t.Errorf("%+v", st)
	}
	w.seats[0].set(nobody)
	promised := 0
	for i := range 100 {
		made := w.create(gauge(pathIn(0, 1, 2+i)))
		switch {
		case made.Err == nil:
			promised++
		case !errors.Is(made.Err, core.ErrUnavailable):
			t.Fatal(made.Err)
		}
	}
	if promised < 5 || promised > 12 {
		t.Errorf("%d promises in 5000 bytes", promised)
	}
	if err := w.submit(begin+2, 1, 1<<63|12345, 77); err == nil {
		t.Error("references of nothing were taken")
	} else if r, ok := errors.AsType[*core.RejectedError](err); !ok || r.Other != 2 || !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
	if r, ok := errors.AsType[*core.RejectedError](w.submit(begin+2, 1, first.Ref, 1<<48|1<<47|12345)); !ok || r.Accepted != 1 || r.Other != 1 || r.First[0].Index != 1 {
		t.Errorf("a promise that nobody has given: %v", r)
	}
}

// Refusals of the leader reach the caller with the indices of its batch.
func TestRefusals(t *testing.T) {
	w := newWorld(t, 2).open()
	refs := w.series()
	must(t, w.submit(begin+5, 1, refs...))
	var b core.Batch
	b.Add(refs[0], rra.Seconds(begin+6), rra.Float(1))
	b.Add(refs[1], rra.Seconds(begin+5), rra.Float(1))               // late
	b.Add(refs[1], rra.Seconds(begin+6), rra.Float(1), rra.Float(2)) // of another shape
	b.Add(refs[0]+1, rra.Seconds(begin+6), rra.Float(1))             // no series
	err := core.Append(t.Context(), w.detour, &b)
	r, ok := errors.AsType[*core.RejectedError](err)
	if !ok || r.Accepted != 1 || r.Late != 1 || r.Other != 2 || len(r.First) != 3 {
		t.Fatalf("%v", err)
	}
	for i, x := range r.First {
		if x.Index != i+1 {
			t.Errorf("refusal %d is of sample %d", i, x.Index)
		}
	}
	if !errors.Is(r.First[2].Err, core.ErrNotFound) {
		t.Error(r.First[2].Err)
	}
	w.seats[0].set(nobody)
	began := time.Now()
	if m, err := core.MetadataOf(t.Context(), w.detour, pathIn(0, 2, 0)); err != nil || m.Time != 0 {
		t.Error(m, err)
	}
	if _, err := w.detour.Lookup(pathIn(0, 2, 0)); !errors.Is(err, core.ErrUnavailable) {
		t.Error(err)
	}
	t.Logf("questions to a partition without a leader took %v", time.Since(began))
}

// A disk that does not take samples costs these samples, which are counted, and nothing else. When
// it takes some again, they wait there.
func TestDiskFails(t *testing.T) {
	w := newWorld(t, 2).open()
	refs := w.series()
	w.seats[0].set(nobody)
	inTheWay := filepath.Join(w.dir, "p0000") // where the log of the partition is to be
	must(t, os.WriteFile(inTheWay, nil, 0o600))
	must(t, w.submit(begin+1, 1, refs...))
	if st := w.detour.Figures(); st.Dropped[detour.Disk] != 1 || st.Bytes != 0 || w.last(1) != begin+1 {
		t.Errorf("%+v", st)
	}
	must(t, os.Remove(inTheWay))
	must(t, w.submit(begin+2, 1, refs...))
	w.seats[0].set(leads)
	w.settle()
	if at := w.last(0); at != begin+2 {
		t.Errorf("the series is at %d", at-begin)
	}
}
