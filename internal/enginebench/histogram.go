package enginebench

import (
	"math/bits"
	"time"
)

// A Histogram counts durations in buckets an eighth of an octave wide (an error
// of at most 6 in 100 either way). It has one size and never allocates.
type Histogram struct {
	n      uint64
	counts [8 * 48]uint64
}

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	h.n++
	h.counts[bucketOf(d)]++
}

// Merge adds what o counted.
func (h *Histogram) Merge(o *Histogram) {
	h.n += o.n
	for i, c := range o.counts {
		h.counts[i] += c
	}
}

// Count returns how many durations were counted.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile returns the duration that a share q of all counted ones do not exceed: the upper end of
// its bucket.
func (h *Histogram) Quantile(q float64) time.Duration {
	want := uint64(q * float64(h.n))
	var seen uint64
	for i, c := range h.counts {
		seen += c
		if c > 0 && seen >= max(want, 1) {
			return bucketEnd(i)
		}
	}
	return 0
}

// bucketOf: below 8 ns a bucket a nanosecond, then eight an octave.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 8 {
		return int(v)
	}
	octave := bits.Len64(v) - 4
	return min(octave*8+int(v>>octave), 8*48-1)
}

func bucketEnd(i int) time.Duration {
	if i < 16 {
		return time.Duration(i)
	}
	octave := i/8 - 1
	return time.Duration((uint64(i%8+8)+1)<<octave - 1)
}
