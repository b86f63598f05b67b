package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// TestWindowsMoveOn runs rings past their ends in small steps, a checkpoint after each: slots are
// merged and expire, a series that falls silent keeps its rows and comes back, one runs far ahead.
func TestWindowsMoveOn(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	o := core.Options{NoBackground: true}
	s := enginetest.OpenDir(t, dir, o)
	p := &program{t: t, r: rand.New(rand.NewPCG(seedtest.One(t), 8)), plainly: true}
	for _, name := range []string{"steady", "silent", "ahead", "odd"} {
		p.series = append(p.series, newModelSeries(definition(t, "DS:a:GAUGE:20000:U:U", "DS:b:COUNTER:50:U:U",
			"RRA:AVERAGE:0.5:1:600", "RRA:MAX:0.9:1:100", "RRA:AVERAGE:0.5:3:300", "RRA:MIN:0.5:60:5"), name, rra.Seconds(programStart)))
	}
	bind(t, s, p.series)
	seen := make(map[string]int)
	hook := func(name string) { // readers do not see where a checkpoint is
		if !strings.HasPrefix(name, "checkpoint") && name != "merge" && name != "expire" {
			return // of an append, which others run
		}
		if seen[name]++; seen[name]%7 == 1 {
			compareModel(t, s, p.series)
		}
	}
	s.SetHook(hook)
	lagged := 0
	for round := range 160 {
		for tick := range 10 {
			var rds []*reading
			for _, x := range p.series {
				at := x.last() + 10e6
				switch {
				case x.path == "silent" && round > 20 && round < 60, x.path == "silent" && round > 100 && round < 104:
					continue
				case x.path == "silent" && round == 60 && tick == 0:
					at = p.series[0].last() // back, within what it still keeps
				case x.path == "ahead" && round == 90 && tick == 0:
					at += rra.Seconds(7000) // the others lag from now on
				case x.path == "odd":
					at = x.last() + rra.Time(p.r.Int64N(20e6)+1)
				}
				rd := p.reading(x, at)
				if x.append(rd) == nil {
					rds = append(rds, rd)
				}
			}
			if err := feed(t, s, rds); err != nil {
				t.Fatal(err)
			}
		}
		if round%3 == 0 {
			if err := s.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if round%8 == 7 {
			compareModel(t, s, p.series)
			enginetest.Check(t, s)
			lagged = max(lagged, len(s.OldColumns()))
		}
		if round%40 == 39 {
			s.SetHook(nil)
			s = reopen(t, s, dir, o)
			s.SetHook(hook)
			compareModel(t, s, p.series)
		}
	}
	s.SetHook(nil)
	for _, name := range []string{"merge", "expire", "checkpoint-tx", "checkpoint-catalogue"} {
		if seen[name] == 0 {
			t.Errorf("no checkpoint came to %q: %v", name, seen)
		}
	}
	if lagged == 0 {
		t.Error("no rows ever lagged")
	}
	// When everyone has gone on past what lagged, nothing is kept of it.
	at := rra.Seconds(programStart + 40_000)
	for i := range int64(700) {
		var rds []*reading
		for _, x := range p.series {
			rd := p.reading(x, at+rra.Seconds(10*i))
			if x.append(rd) == nil {
				rds = append(rds, rd)
			}
		}
		if err := feed(t, s, rds); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	compareModel(t, s, p.series)
	if n := len(s.OldColumns()); n != 0 {
		t.Errorf("%d columns have rows in old slots although no series lags", n)
	}
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, o)), mustDigest(t, s))
}

// The slots that the window of a group has passed keep the rows of all series that lag, and of no
// others.
func TestManySeriesFallSilent(t *testing.T) {
	ctx := context.Background()
	const series = 11 * 256 // each group has one that goes on
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{NoBackground: true})
	def := definition(t, "DS:a:GAUGE:60:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:2:60")
	var specs []core.Spec
	for i := range series {
		specs = append(specs, core.Spec{Path: string(rune('a'+i%26)) + "/" + string(rune(0x4e00+i)), Definition: def, Start: rra.Seconds(programStart)})
	}
	made, err := s.CreateBatch(ctx, specs)
	if err != nil {
		t.Fatal(err)
	}
	tick := func(i int64, every int) {
		t.Helper()
		var b core.Batch
		for k := 0; k < series; k += every {
			b.Add(made[k].Ref, rra.Seconds(programStart+10*i+10), rra.Float(float64(i)))
		}
		mustAppend(t, s, &b)
	}
	for i := range int64(100) {
		tick(i, 1)
	}
	for i := range int64(400) { // one series in 200 goes on
		tick(100+i, 200)
		if i%50 == 49 {
			if err := s.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := s.OldColumns()
	for k, m := range made {
		if lags := k%200 != 0; (old[m.Ref] > 0) != lags {
			t.Errorf("series %d lags: %v; it has rows in %d old slots", k, lags, old[m.Ref])
		}
	}
	for _, k := range []int{0, 1, 200, series - 1} {
		rows, err := s.Fetch(ctx, made[k].Ref, 0, programStart, programStart+1000)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range rows.Values {
			if kept := k%200 != 0; kept && v != float64(i) {
				t.Fatalf("row %d of series %d: %v", i, k, v)
			}
		}
	}
}

// BenchmarkCheckpointBesideSilent writes a checkpoint of a group half of whose series have fallen
// silent one after the other, so that it has many slots behind its window.
func BenchmarkCheckpointBesideSilent(b *testing.B) {
	const series, start = 256, 1_000_000_000
	s := enginetest.OpenDir(b, b.TempDir(), core.Options{NoBackground: true})
	d := definition(b, "DS:a:GAUGE:1200:U:U", "RRA:AVERAGE:0.5:1:1008", "RRA:AVERAGE:0.5:6:8760")
	var refs []core.Ref
	for i := range series {
		refs = append(refs, mustCreateAt(b, s, fmt.Sprint(i), d, start))
	}
	var batch core.Batch
	step := func(at int64) {
		batch.Reset()
		for i, ref := range refs {
			if i >= series/2 || at < start+int64(i)*86400 {
				batch.Add(ref, rra.Seconds(at), rra.Int(at%77))
			}
		}
		mustAppend(b, s, &batch)
	}
	at := int64(start)
	for round := range 160 * 144 {
		at += 600
		step(at)
		if round%144 == 0 {
			mustClose(b, s.Checkpoint(b.Context()))
		}
	}
	for b.Loop() {
		at += 600
		step(at)
		mustClose(b, s.Checkpoint(b.Context()))
	}
}
