package core_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// reopen closes s and opens its folder again with other options.
func reopen(t testing.TB, s *core.Store, dir string, o core.Options) *core.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return enginetest.OpenDir(t, dir, o)
}

// reorderProgram makes readings of some series whose order is disturbed by less than window
// seconds.
func reorderProgram(t testing.TB, r *rand.Rand, window int64) (sorted, shuffled []*reading, series []*modelSeries) {
	t.Helper()
	p := &program{t: t, r: r, plainly: true}
	for i := range 5 {
		x := newModelSeries(definition(t, "DS:a:COUNTER:60:U:U", "DS:b:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:50", "RRA:MAX:0.5:6:20"), string(rune('a'+i)), rra.Seconds(programStart))
		p.series = append(p.series, x)
	}
	type late struct {
		rd *reading
		at rra.Time
	}
	var all []late
	for i := range int64(200) {
		for _, x := range p.series {
			rd := p.reading(x, rra.Seconds(programStart+10*(i+1)))
			if slices.ContainsFunc(rd.values, func(v rra.Value) bool { return v.Tag == rra.TagInvalid }) {
				continue
			}
			sorted = append(sorted, rd)
			all = append(all, late{rd, rd.at + rra.Time(r.Int64N(window*1e6))})
		}
	}
	slices.SortStableFunc(all, func(a, b late) int { return int(a.at - b.at) })
	for _, l := range all {
		shuffled = append(shuffled, l.rd)
	}
	return sorted, shuffled, p.series
}

// bind makes the series of a model in s.
func bind(t testing.TB, s *core.Store, series []*modelSeries) {
	t.Helper()
	for _, x := range series {
		x.ref = mustCreate(t, s, x.path, x.m.Definition())
	}
}

func feed(t testing.TB, s *core.Store, rds []*reading) error {
	t.Helper()
	var b core.Batch
	for _, rd := range rds {
		b.AddText(rd.x.ref, rd.at, rd.values, rd.texts)
	}
	return s.Append(context.Background(), &b)
}

// compareModel compares every row and last update of series.
func compareModel(t testing.TB, s *core.Store, series []*modelSeries) {
	t.Helper()
	for _, x := range series {
		at, err := s.Last(x.ref)
		if err != nil || at != x.last() {
			t.Fatalf("last of %s: %d, %v, want %d", x.path, at, err, x.last())
		}
		open, err := s.Fetch(context.Background(), x.ref, core.OpenRow, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for a, ra := range x.m.Definition().Archives {
			span := ra.PDPs * x.m.Definition().Step
			start, end := at.Unix()-(ra.Rows+2)*span, at.Unix()+span
			rows, err := s.Fetch(context.Background(), x.ref, a, start, end)
			if err != nil {
				t.Fatal(err)
			}
			if d := x.diffRows(a, start, end, &rows); d != "" {
				t.Fatalf("%s, archive %d: %s", x.path, a, d)
			}
			if first, ok := firstKnown(&rows); ok && first < open.First {
				t.Fatalf("%s, archive %d: rows are known behind %d, not only behind %d", x.path, a, first, open.First)
			}
		}
	}
}

// firstKnown returns where the first known row begins, if there is one.
func firstKnown(r *core.Rows) (start int64, ok bool) {
	i := slices.IndexFunc(r.Values, func(v float64) bool { return v == v })
	return r.Start + int64(i/len(r.DS))*r.Step, i >= 0
}

// Samples out of order by less than the window give what they give in order, whatever happens
// between.
func TestReorderedSamplesGiveSortedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(seedtest.One(t), 2))
	const window = 30
	sorted, shuffled, series := reorderProgram(t, r, window)
	dir := t.TempDir()
	o := core.Options{Reorder: window * time.Second, NoBackground: true}
	s := enginetest.OpenDir(t, dir, o)
	bind(t, s, series)
	for len(shuffled) > 0 {
		n := min(1+r.IntN(60), len(shuffled))
		if err := feed(t, s, shuffled[:n]); err != nil {
			t.Fatal(err)
		}
		shuffled = shuffled[n:]
		switch r.IntN(6) {
		case 0:
			if err := s.Checkpoint(context.Background()); err != nil {
				t.Fatal(err)
			}
		case 1: // what is held survives a crash
			to := copyStore(t, dir)
			held := s.Stats().Held
			_ = s.Close()
			s, dir = enginetest.OpenDir(t, to, o), to
			if got := s.Stats().Held; got != held && r.IntN(2) == 0 {
				_ = mustDigest(t, s) // loads every group
				if got = s.Stats().Held; got != held {
					t.Fatalf("%d samples are held after a crash, %d were before", got, held)
				}
			}
		}
	}
	// The last samples are within the window: those behind are not yet seen.
	newest := make(map[*modelSeries]rra.Time)
	for _, rd := range sorted {
		newest[rd.x] = max(newest[rd.x], rd.at)
	}
	for _, rd := range sorted {
		if rd.at <= newest[rd.x]-window*1e6 {
			_ = rd.x.append(rd)
		}
	}
	compareModel(t, s, series)
	// Without the window the next sample lets all that was held go before it.
	s = reopen(t, s, dir, core.Options{NoBackground: true})
	var last []*reading
	for _, x := range series {
		last = append(last, &reading{x: x, at: newest[x] + 10e6, values: []rra.Value{rra.Uint(1), rra.Float(2)}})
	}
	if err := feed(t, s, last); err != nil {
		t.Fatal(err)
	}
	for _, rd := range append(sorted, last...) {
		if rd.at > newest[rd.x]-window*1e6 {
			_ = rd.x.append(rd)
		}
	}
	compareModel(t, s, series)
	if n := s.Stats().Held; n != 0 {
		t.Errorf("%d samples are still held", n)
	}
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

func TestReorderWindow(t *testing.T) {
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{Reorder: 20 * time.Second})
	ref := mustCreate(t, s, "a", definition(t, "DS:a:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:50"))
	ctx := context.Background()
	add := func(sec int64) error {
		var b core.Batch
		b.Add(ref, rra.Seconds(programStart+sec), rra.Int(1))
		return s.Append(ctx, &b)
	}
	last := func() int64 {
		t.Helper()
		at, err := s.Last(ref)
		if err != nil {
			t.Fatal(err)
		}
		return at.Unix() - programStart
	}
	var late *rra.TimeError
	for _, tt := range []struct {
		at   int64
		late bool
		last int64
	}{
		{30, false, 0},
		{20, false, 0},
		{20, true, 0},   // the same time twice
		{40, false, 20}, // lets 20 go
		{20, true, 20},
		{10, true, 20},
		{25, false, 20},
		{25, true, 20},
		{45, false, 25},
		{100, false, 45}, // lets all but itself go
		{45, true, 45},
		{46, false, 46}, // leaves the window at once
		{60, false, 60},
		{55, true, 60},
	} {
		err := add(tt.at)
		if got := errors.As(err, &late); got != tt.late || (err != nil) != tt.late {
			t.Fatalf("sample at %d: %v, late is %v", tt.at, err, tt.late)
		}
		if got := last(); got != tt.last {
			t.Fatalf("last after %d: %d, want %d", tt.at, got, tt.last)
		}
	}
	// A longer and a shorter window take effect from the next sample on.
	s = reopen(t, s, dir, core.Options{Reorder: 100 * time.Second})
	if err := add(150); err != nil || last() != 60 {
		t.Fatalf("last is %d, %v, want 60: 100 is within the longer window", last(), err)
	}
	s = reopen(t, s, dir, core.Options{Reorder: 5 * time.Second})
	if err := add(151); err != nil || last() != 100 {
		t.Fatalf("last is %d, %v, want 100: the window is shorter", last(), err)
	}
	if n := s.Stats().Held; n != 2 {
		t.Errorf("%d samples are held, want 2", n)
	}
	if err := core.Drop(ctx, s, "a"); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Held; n != 0 {
		t.Errorf("%d samples of a dropped series are held", n)
	}
}

// A window that never closes does not hold samples without end.
func TestHeldSamplesAreBounded(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{Reorder: 10 * 24 * time.Hour})
	ref := mustCreate(t, s, "a", definition(t, "DS:a:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:50"))
	before := s.Stats().MemoryBytes
	for i := range int64(50) {
		var b core.Batch
		for j := range int64(100) {
			b.Add(ref, rra.Seconds(programStart+1+100*i+j), rra.Int(1))
		}
		mustAppend(t, s, &b)
		if i == 10 && s.Stats().MemoryBytes < before+1000*16 {
			t.Errorf("1,000 held samples do not count as memory: %d bytes, %d before", s.Stats().MemoryBytes, before)
		}
	}
	if n := s.Stats().Held; n != 4096 {
		t.Errorf("%d samples are held, want 4096", n)
	}
}
