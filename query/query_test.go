package query_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

func define(t testing.TB, step int64, archives ...string) *rra.Definition {
	t.Helper()
	d, err := rra.ParseDefinition(step, append([]string{"DS:x:GAUGE:600:U:U", "DS:y:GAUGE:600:U:U"}, archives...))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestChoose(t *testing.T) {
	const last = 1200000000
	d := define(t, 10,
		"RRA:AVERAGE:0.5:1:60",      // 0: 10 s, 10 minutes
		"RRA:AVERAGE:0.5:6:60",      // 1: 1 min, 1 hour
		"RRA:MAX:0.5:6:60",          // 2
		"RRA:AVERAGE:0.5:3:200",     // 3: 30 s, 100 minutes
		"RRA:HWPREDICT:5:0.1:0.1:5", // 4, and 5 to 8
	)
	for _, tt := range []struct {
		name             string
		cf               rra.CF
		back, resolution int64
		want             int
		err              error
	}{
		{"the finest that reaches back", rra.Average, 300, 1, 0, nil},
		{"not the coarser one that does too", rra.Average, 600, 10, 0, nil},
		{"a second too far", rra.Average, 601, 10, 3, nil},
		{"nearest to the resolution", rra.Average, 300, 50, 1, nil},
		{"half way: the first", rra.Average, 300, 45, 1, nil},
		{"none reaches back: the longest", rra.Average, 100000, 10, 3, nil},
		{"one point a row serves every classical CF", rra.Min, 100000, 10, 0, nil},
		{"of two that serve, the nearest", rra.Max, 300, 60, 2, nil},
		{"of two that serve, the longest", rra.Max, 3000, 10, 2, nil},
		{"the future", rra.Average, -5000, 1, 0, nil},
		{"prediction", rra.HWPredict, 10, 1, 4, nil},
		{"one point a row serves no prediction", rra.MHWPredict, 10, 1, 0, query.ErrNoArchive},
		{"failures", rra.Failures, 10, 1, 8, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := d.Choose(last, tt.cf, last-tt.back, tt.resolution)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got archive %d, %v; want %d, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// ringStore holds one series whose row k of every archive is k, and counts what
// is asked of it.
type ringStore struct {
	d     *rra.Definition
	last  int64
	asked int64 // rows
}

func (s *ringStore) Info(core.Ref) (core.Info, error) {
	m, err := rra.Compile(s.d)
	if err != nil {
		return core.Info{}, err
	}
	return core.Info{Series: core.Series{Definition: s.d}, Machine: m, State: m.NewState(rra.Seconds(s.last))}, nil
}

func (s *ringStore) Fetch(_ context.Context, _ core.Ref, archive int, start, end int64) (core.Rows, error) {
	step := s.d.Step * s.d.Archives[archive].PDPs
	out := core.Rows{Start: start - start%step, End: end, Step: step, DS: []string{"x", "y"}}
	for at := out.Start + step; at <= end; at += step {
		s.asked++
		out.Values = append(out.Values, float64(at/step), -float64(at/step))
	}
	return out, nil
}

func TestFetch(t *testing.T) {
	s := &ringStore{d: define(t, 10, "RRA:AVERAGE:0.5:1:100", "RRA:AVERAGE:0.5:6:100"), last: 12007}
	for _, tt := range []struct {
		name             string
		r                query.Request
		start, end, step int64
		from, to         int64 // rows that are known: (from, to]
	}{
		{"inside", query.Request{Start: 11505, End: 11605}, 11500, 11610, 10, 11500, 11610},
		{"an end on a row takes one row more", query.Request{Start: 11500, End: 11600}, 11500, 11610, 10, 11500, 11610},
		{"past the last row", query.Request{Start: 11900, End: 12100}, 11900, 12110, 10, 11900, 12000},
		{"before the first row", query.Request{Start: 5000, End: 6500}, 4980, 6540, 60, 6000, 6540},
		{"by resolution", query.Request{Start: 11505, End: 11605, Resolution: 60}, 11460, 11640, 60, 11460, 11640},
		{"aligned", query.Request{Start: 11559, End: 11600, Resolution: 60, Align: true}, 11520, 11580, 60, 11520, 11580},
		{"all in the future", query.Request{Start: 13000, End: 13010}, 13000, 13020, 10, 0, 0},
		{"long", query.Request{Start: 1000, End: 1000000}, 960, 1000020, 60, 6000, 12000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.asked = 0
			tab, err := fetch(t.Context(), s, 1, tt.r)
			if err != nil {
				t.Fatal(err)
			}
			if tab.Start != tt.start || tab.End != tt.end || tab.Step != tt.step {
				t.Errorf("got rows of (%d, %d] by %d, want (%d, %d] by %d", tab.Start, tab.End, tab.Step, tt.start, tt.end, tt.step)
			}
			for i := range tab.Len() {
				end, v := tab.Row(i)
				want := math.NaN()
				if end > tt.from && end <= tt.to {
					want = float64(end / tt.step)
				}
				if v[0] != want && !(math.IsNaN(v[0]) && math.IsNaN(want)) || v[1] != -want && !math.IsNaN(want) {
					t.Errorf("row of %d: got %v, want %v", end, v, want)
				}
			}
			if s.asked > 110 {
				t.Errorf("asked the store for %d rows, more than it has", s.asked)
			}
		})
	}
	if _, err := fetch(t.Context(), s, 1, query.Request{CF: rra.HWPredict}); !errors.Is(err, query.ErrNoArchive) {
		t.Errorf("no such archive: got %v", err)
	}
}

// fetch returns the rows of a plan in one table.
func fetch(ctx context.Context, s query.Store, ref core.Ref, r query.Request) (*query.Table, error) {
	p, err := query.NewPlan(s, ref, r)
	if err != nil {
		return nil, err
	}
	t := &query.Table{Start: p.Start, End: p.End, Step: p.Step, DS: p.DS, Archive: p.Archive}
	for piece, err := range p.Pieces(ctx) {
		if err != nil {
			return nil, err
		}
		t.Values = append(t.Values, piece.Values...)
	}
	return t, nil
}

func TestFetchOfEngine(t *testing.T) {
	s := enginetest.Open(t)
	ref, err := s.Create(t.Context(), core.Spec{Path: "a", Definition: define(t, 10, "RRA:LAST:0:1:10"), Start: rra.Seconds(1000)})
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	for i := range int64(5) {
		b.Add(ref, rra.Seconds(1010+10*i), rra.Int(i), rra.Int(10*i))
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	tab, err := fetch(t.Context(), s, ref, query.Request{CF: rra.Last, Start: 1020, End: 1039})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(tab.Start, tab.End, tab.Step, tab.DS, tab.Values)
	if want := "1020 1040 10 [x y] [2 20 3 30]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func ExamplePlan_Pieces() {
	dir, err := os.MkdirTemp("", "rondo")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := core.Open(dir, core.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	d, err := rra.ParseDefinition(10, []string{"DS:load:GAUGE:20:0:U", "RRA:AVERAGE:0.5:1:1h", "RRA:AVERAGE:0.5:1m:1d"})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ref, err := s.Create(ctx, core.Spec{Path: "web1/load", Definition: d, Start: rra.Seconds(1700000000)})
	if err != nil {
		log.Fatal(err)
	}
	var b core.Batch
	for i := range int64(6) {
		b.Add(ref, rra.Seconds(1700000010+10*i), rra.Float(float64(i)/4))
	}
	if err := s.Append(ctx, &b); err != nil {
		log.Fatal(err)
	}
	plan, err := query.NewPlan(s, ref, query.Request{CF: rra.Average, Start: 1700000030, End: 1700000059})
	if err != nil {
		log.Fatal(err)
	}
	for t, err := range plan.Pieces(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		for i := range t.Len() {
			end, values := t.Row(i)
			fmt.Println(end, values)
		}
	}
	// Output:
	// 1700000040 [0.75]
	// 1700000050 [1]
	// 1700000060 [1.25]
}
