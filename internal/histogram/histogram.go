// Package histogram counts durations in buckets, as Prometheus' histograms do. Any goroutine may
// count at any time: a count is two atomic additions.
package histogram

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of all buckets except the last, which has no bound.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// A Histogram counts durations. The zero value is ready for use; it must not be copied.
type Histogram struct {
	counts [len(bounds) + 1]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
}

// Observe counts d.
func (h *Histogram) Observe(d time.Duration) {
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// A Snapshot is what a Histogram has counted up to one moment.
type Snapshot struct {
	counts [len(bounds) + 1]uint64
	sum    time.Duration
}

// Snapshot returns what h has counted.
func (h *Histogram) Snapshot() (s Snapshot) {
	for i := range s.counts {
		s.counts[i] = h.counts[i].Load()
	}
	s.sum = time.Duration(h.sum.Load())
	return s
}

// Add adds what another histogram has counted.
func (s *Snapshot) Add(o *Snapshot) {
	for i := range s.counts {
		s.counts[i] += o.counts[i]
	}
	s.sum += o.sum
}

// MarshalText returns s as hexadecimal digits, which UnmarshalText reads. It does not fail.
func (s Snapshot) MarshalText() ([]byte, error) {
	var b []byte
	for _, c := range s.counts {
		b = binary.AppendUvarint(b, c)
	}
	return hex.AppendEncode(nil, binary.AppendVarint(b, int64(s.sum))), nil
}

// UnmarshalText is the inverse of MarshalText.
func (s *Snapshot) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	*s = Snapshot{}
	for i := range s.counts {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errShort
		}
		s.counts[i], b = v, b[n:]
	}
	v, n := binary.Varint(b)
	if n <= 0 {
		return errShort
	}
	s.sum = time.Duration(v)
	return nil
}

var errShort = errors.New("histogram: the text is too short")

// Sum returns the sum of all durations, in seconds.
func (s *Snapshot) Sum() float64 { return s.sum.Seconds() }

// Count returns how many durations there are.
func (s *Snapshot) Count() (n uint64) {
	for _, c := range s.counts {
		n += c
	}
	return n
}

// Buckets calls f for each bucket except the last, with its upper bound in seconds and the number
// of durations that are not above the bound.
func (s *Snapshot) Buckets(f func(bound float64, count uint64)) {
	n := uint64(0)
	for i, b := range bounds {
		n += s.counts[i]
		f(b.Seconds(), n)
	}
}
