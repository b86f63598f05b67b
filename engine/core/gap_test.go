package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// One sample over a gap closed 2 billion rows one by one, in the goroutine that applies everybody's
// samples: seconds, gigabytes, and a checkpoint that did not end. Here a gap of 99 million rows of
// 40 archives must stay a few runs, whatever happens to it.
func TestGapOfMillionsOfRows(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	o := core.Options{Memory: 64 << 20, NoBackground: true}
	s := enginetest.OpenDir(t, dir, o)
	args := []string{"DS:g:GAUGE:2000000000:U:U"}
	const archives, rows = 40, 24_000_000
	for i := range archives {
		args = append(args, fmt.Sprintf("RRA:MAX:0.5:%d:%d", i+1, rows))
	}
	start := int64(1_000_000_000)
	def := definition(t, args...)
	def.Step = 1
	ref, err := s.Create(ctx, core.Spec{Path: "gap", Definition: def, Start: rra.Seconds(start)})
	if err != nil {
		t.Fatal(err)
	}
	const gap = archives * rows // of seconds: it fills each archive
	bounded := func(what string) {
		t.Helper()
		if n := s.Stats().MemoryBytes; n > 8<<20 {
			t.Errorf("%s: %d bytes of memory", what, n)
		}
	}
	at := start
	feed := func(v float64, seconds int64) {
		t.Helper()
		at += seconds
		var b core.Batch
		b.Add(ref, rra.Seconds(at), rra.Float(v))
		mustAppend(t, s, &b)
		bounded("after a sample")
	}
	// What a fetch of any piece must give: the values and the times up to which they hold.
	check := func(want ...float64) {
		t.Helper()
		for i := range archives {
			span := int64(i + 1)
			for j, v := range want {
				end := at - int64(len(want)-1-j)*gap/8
				if end/span-10 <= at/span-rows {
					continue // it has left the archive
				}
				got, err := s.Fetch(ctx, ref, i, (end/span-10)*span, end/span*span)
				if err != nil {
					t.Fatal(err)
				}
				for k, x := range got.Values {
					if x != v {
						t.Fatalf("archive %d, row %d before %d: %v, want %v", i, len(got.Values)-k, end, x, v)
					}
				}
			}
		}
	}
	feed(1, 1)
	feed(2, gap)
	for range 4 { // checkpoints merge what lies in one slot
		feed(3, gap/8)
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
		bounded("after a checkpoint")
	}
	feed(4, gap/8)
	check(2, 3, 3, 3, 3, 4)
	dir = copyStore(t, dir)
	s = enginetest.OpenDir(t, dir, o)
	check(2, 3, 3, 3, 3, 4)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = enginetest.OpenDir(t, dir, o)
	check(2, 3, 3, 3, 3, 4)
	// Small gaps, each of less than a slot or of a few, many to a slot.
	for i := range 50 {
		feed(float64(5+i%2), 3_000)
		if i%10 == 9 {
			if err := s.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	bounded("after many small gaps")
	if n := rowKeys(t, s); n > archives*(core.MaxSlots+2)*16 {
		t.Errorf("%d row blocks", n)
	}
	if err := core.Drop(ctx, s, "gap"); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	if n := rowKeys(t, s); n != 0 {
		t.Errorf("%d row blocks of a dropped series", n)
	}
}

// Gaps of all lengths, in archives of all lengths, give the rows of the model: in memory, stored,
// merged, moved by other series of the group, after a crash, and when the series is taken away and
// put back.
func TestGapsAreTheModels(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(seedtest.Programs(3, 20)) {
		r := rand.New(rand.NewPCG(seedtest.One(t), seed))
		dir := t.TempDir()
		o := core.Options{NoBackground: true}
		s := enginetest.OpenDir(t, dir, o)
		args := []string{"DS:a:GAUGE:100000000:U:U"}
		if r.IntN(2) == 0 {
			args = append(args, "DS:b:DERIVE:20000:U:U")
		}
		most := int64(0)
		for range 1 + r.IntN(3) {
			rows := int64(1 + r.IntN(pick(r, 100, 1000, 10_000, 70_000)))
			pdps := int64(pick(r, 1, 1, 2, 7))
			most = max(most, rows*pdps)
			args = append(args, fmt.Sprintf("RRA:%s:0.5:%d:%d", pick(r, "AVERAGE", "LAST", "MIN"), pdps, rows))
		}
		def := definition(t, args...)
		var xs []*modelSeries
		for i := range 3 {
			x := newModelSeries(def, fmt.Sprint("s", i), rra.Seconds(programStart))
			x.ref = mustCreateAt(t, s, x.path, def, programStart)
			xs = append(xs, x)
		}
		for range 30 {
			x := xs[r.IntN(len(xs))]
			gap := 1 + r.Int64N(pick(r, 2, 30, most, 2*most))
			rd := &reading{x: x, at: x.last() + rra.Seconds(gap*def.Step)}
			for range x.m.Inputs() {
				rd.values = append(rd.values, rra.Int(int64(r.IntN(3))*gap))
			}
			if err := feed(t, s, []*reading{rd}); err != nil {
				t.Fatal(err)
			}
			if err := x.append(rd); err != nil {
				t.Fatal(err)
			}
			switch r.IntN(6) {
			case 0, 1:
				if err := s.Checkpoint(ctx); err != nil {
					t.Fatal(err)
				}
			case 2:
				dir = copyStore(t, dir)
				s = enginetest.OpenDir(t, dir, o)
			case 3:
				ref, err := s.Alter(ctx, x.path, func(c core.Copy) (core.Copy, error) { return c, nil })
				if err != nil {
					t.Fatal(err)
				}
				x.ref = ref
			}
			if r.IntN(4) == 0 {
				compareModel(t, s, xs)
			}
		}
		compareModel(t, s, xs)
		want := mustDigest(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = enginetest.OpenDir(t, dir, o)
		compareModel(t, s, xs)
		sameDigest(t, "after Close", mustDigest(t, s), want)
	}
}

func mustCreateAt(t testing.TB, s *core.Store, path string, def *rra.Definition, start int64) core.Ref {
	t.Helper()
	ref, err := s.Create(t.Context(), core.Spec{Path: path, Definition: def, Start: rra.Seconds(start)})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}
