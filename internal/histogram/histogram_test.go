package histogram_test

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/histogram"
)

func TestHistogram(t *testing.T) {
	var h histogram.Histogram
	for _, d := range []time.Duration{0, 100 * time.Microsecond, 101 * time.Microsecond, time.Second, time.Minute} {
		h.Observe(d)
	}
	s := h.Snapshot()
	if got, want := s.Sum(), 61.000201; got != want {
		t.Errorf("sum %v, want %v", got, want)
	}
	if got := s.Count(); got != 5 {
		t.Errorf("%d counted, want 5", got)
	}
	last := -1.0
	s.Buckets(func(bound float64, count uint64) {
		if bound <= last {
			t.Errorf("bound %v after %v", bound, last)
		}
		last = bound
		want := uint64(3)
		switch {
		case bound <= 0.0001:
			want = 2
		case bound >= 1:
			want = 4
		}
		if count != want {
			t.Errorf("%d up to %v, want %d", count, bound, want)
		}
	})
}

func TestAddedSnapshotsCountAll(t *testing.T) {
	var a, b, both histogram.Histogram
	for i, d := range []time.Duration{time.Microsecond, 3 * time.Millisecond, time.Minute, 2 * time.Second} {
		[]*histogram.Histogram{&a, &b}[i%2].Observe(d)
		both.Observe(d)
	}
	got, other, want := a.Snapshot(), b.Snapshot(), both.Snapshot()
	got.Add(&other)
	if got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
