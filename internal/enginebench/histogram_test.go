package enginebench

import (
	"math"
	"testing"
	"time"
)

func TestHistogramBuckets(t *testing.T) {
	last := -1
	for _, d := range []time.Duration{0, 1, 7, 8, 9, 15, 16, 18, 100, 1000, 12345, 1e6, 3e6, 1e9, 60e9} {
		i := bucketOf(d)
		end := bucketEnd(i)
		if i <= last || end < d || float64(end) > float64(d)*1.13+1 {
			t.Errorf("%d ns: bucket %d after %d ends at %d", d, i, last, end)
		}
		last = i
	}
	if i := bucketOf(math.MaxInt64); i != len(Histogram{}.counts)-1 {
		t.Errorf("the longest duration falls in bucket %d", i)
	}
}

func TestHistogramQuantiles(t *testing.T) {
	var a, b Histogram
	for i := range 1000 {
		h := &a
		if i%3 == 0 {
			h = &b
		}
		h.Add(time.Duration(i+1) * time.Microsecond)
	}
	a.Merge(&b)
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0.5, 500 * time.Microsecond}, {0.99, 990 * time.Microsecond}, {1, 1000 * time.Microsecond}} {
		got := a.Quantile(c.q)
		if got < c.want || float64(got) > float64(c.want)*1.13 {
			t.Errorf("quantile %v = %v, want %v", c.q, got, c.want)
		}
	}
	if a.Count() != 1000 || new(Histogram).Quantile(0.5) != 0 {
		t.Error("count or empty quantile is wrong")
	}
}
