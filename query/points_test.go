package query_test

import (
	"testing"

	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

// A chart of a long range must not read the finest archive, and a chart of a short range must not
// be made of a few coarse rows.
func TestPointsTakesTheCoarsestArchiveThatIsFineEnough(t *testing.T) {
	const last = 1_200_000_000
	d := define(t, 10, "RRA:AVERAGE:0.5:1:1000", "RRA:AVERAGE:0.5:6:10000", "RRA:AVERAGE:0.5:360:10000")
	for _, tt := range []struct {
		name             string
		back, resolution int64
		want             int
	}{
		{"as fine as asked", 5000, 10, 0},
		{"finer than asked, not coarser", 5000, 59, 0},
		{"the coarser of two", 5000, 60, 1},
		{"much coarser", 5000, 100_000, 2},
		{"the finest is too coarse", 500_000, 10, 1},
		{"none reaches back", 100_000_000, 10, 2},
	} {
		if got, err := d.ChooseFiner(last, rra.Average, last-tt.back, tt.resolution); got != tt.want || err != nil {
			t.Errorf("%s: got archive %d, %v; want %d", tt.name, got, err, tt.want)
		}
	}
	if _, err := d.ChooseFiner(last, rra.Failures, last, 1); err != query.ErrNoArchive {
		t.Errorf("got %v, want ErrNoArchive", err)
	}
}

// Row k of every archive of a ringStore is k, so that rows that were put together are known.
func TestPointsMakesRowsByTheConsolidationFunction(t *testing.T) {
	s := &ringStore{last: 12_000}
	for _, tt := range []struct {
		cf    rra.CF
		value func(first, last float64) float64
	}{
		{rra.Average, func(first, last float64) float64 { return (first + last) / 2 }},
		{rra.Min, func(first, _ float64) float64 { return first }},
		{rra.Max, func(_, last float64) float64 { return last }},
		{rra.Last, func(_, last float64) float64 { return last }},
	} {
		s.d = define(t, 10, "RRA:"+tt.cf.String()+":0.5:1:1000")
		p, err := query.NewPoints(s, 1, query.Request{CF: tt.cf, Start: 11_003, End: 11_997}, 12)
		if err != nil {
			t.Fatal(err)
		}
		if p.Every != 10 || p.Plan.Start != 11_000 || p.Plan.End != 12_000 || p.Rows() != 10 || p.Step() != 100 {
			t.Fatalf("%v: %d rows of %d rows of (%d, %d]", tt.cf, p.Rows(), p.Every, p.Plan.Start, p.Plan.End)
		}
		rows := int64(0)
		err = p.Each(t.Context(), func(row int64, values []float64) {
			last := float64(p.Plan.Start/10 + (row+1)*10)
			if want := tt.value(last-9, last); row != rows || values[0] != want {
				t.Errorf("%v: row %d is %v, want row %d, %v", tt.cf, row, values[0], rows, want)
			}
			rows++
		})
		if err != nil || rows != 10 {
			t.Errorf("%v: %d rows, %v", tt.cf, rows, err)
		}
	}
}

// No range may give more rows than were asked, wherever it begins and ends within a row. Before the
// archive begins and after its end rows are unknown, and do not make their neighbours unknown.
func TestPointsKeepsToItsLimit(t *testing.T) {
	s := &ringStore{d: define(t, 10, "RRA:AVERAGE:0.5:1:1000"), last: 12_000}
	for most := range int64(40) {
		for start := int64(1900); start < 2100; start += 7 {
			for _, length := range []int64{0, 1, 10, 99, 400, 1000, 10_100, 100_000_000} {
				p, err := query.NewPoints(s, 1, query.Request{Start: start, End: start + length}, most)
				if err != nil {
					t.Fatal(err)
				}
				end := p.Plan.Start + p.Rows()*p.Step()
				if p.Rows() > max(most, query.MinPoints) || p.Rows() < 1 || p.Plan.Start > start || end < start+length || end != p.Plan.End {
					t.Fatalf("%d points of (%d, %d]: %d rows of %d s from %d", most, start, start+length, p.Rows(), p.Step(), p.Plan.Start)
				}
			}
		}
	}
	p, err := query.NewPoints(s, 1, query.Request{Start: 1990, End: 2050}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	if err := p.Each(t.Context(), func(_ int64, values []float64) { got = append(got, values[0]) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] != 202.5 {
		t.Errorf("got %v by %d from %d", got, p.Step(), p.Plan.Start)
	}
}
