package query_test

import (
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
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

// No range may give more points than were asked, wherever it begins and ends within a row.
func TestPointsKeepsToItsLimit(t *testing.T) {
	s := enginetest.Open(t)
	ref := create(t, s, "a", define(t, 10, "RRA:AVERAGE:0.5:1:1000"), 1990)
	appended(t, s, ref, 12_000)
	for most := int64(1); most < 40; most++ {
		for start := int64(1900); start < 2100; start += 7 {
			for _, length := range []int64{0, 1, 10, 99, 400, 1000, 9900} {
				r := query.Request{Start: start, End: start + length}
				p := plans(t, s, []core.Ref{ref}, r, most)[0]
				end := p.Start + p.Len()*p.Step
				if p.Len() > max(most, query.MinPoints) || p.Len() < 1 || p.Start > start || end < start+length || end != p.End {
					t.Fatalf("%d points of (%d, %d]: %d rows of %d s from %d", most, start, start+length, p.Len(), p.Step, p.Start)
				}
			}
		}
	}
	for _, r := range []query.Request{{Start: 13_000, End: 14_000}, {Start: 12_000, End: 14_000}} {
		if got := points(t, s, ref, r, 10); len(got.Values) != 0 || got.Start != got.End {
			t.Errorf("behind the last update: %v", got)
		}
	}
	if got := points(t, s, ref, query.Request{Start: 100, End: 14_000}, 10); got.End != 12_000 {
		t.Errorf("the last point ends at %d: %v", got.End, got)
	}
}
