package otlp

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers/internal/protobuf"
)

// A distribution is what data points of histograms and summaries have in common.
type distribution struct {
	count  uint64
	sum    float64
	hasSum bool
}

func (s *distribution) read(r *protobuf.Reader) bool {
	switch {
	case r.Is(4, protowire.Fixed64Type):
		s.count = r.Fixed("the count of a data point")
	case r.Is(5, protowire.Fixed64Type):
		s.sum, s.hasSum = r.Double("the sum of a data point"), true
	default:
		return false
	}
	return true
}

// distribution hands over a count and a sum.
func (d *decoder) distribution(s *distribution) error {
	err := d.take(&part{suffix: "_count"}, d.mode, float64(s.count))
	if err == nil && s.hasSum {
		err = d.take(&part{suffix: "_sum"}, d.mode, s.sum)
	}
	return err
}

// histogram reads a HistogramDataPoint. Its buckets hold what is in the bucket alone; Prometheus'
// hold what is in all buckets below, too.
func (d *decoder) histogram(r protobuf.Reader) error {
	var s distribution
	d.bounds, d.counts = d.bounds[:0], d.counts[:0]
	for r.Next() {
		switch {
		case s.read(&r):
		case r.Number == 6:
			d.counts = r.AppendFixed(d.counts, "the buckets of a histogram")
		case r.Number == 7:
			d.bounds = r.AppendFixed(d.bounds, "the bounds of a histogram")
		default:
			d.common(&r, 9, 10)
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	if len(d.counts) > 0 && len(d.counts) != len(d.bounds)+1 {
		d.skip("a histogram has not one bucket more than bounds")
		return nil
	}
	if len(d.counts) > maxBuckets {
		d.skip("a histogram has too many buckets")
		return nil
	}
	if !rise(d.bounds) {
		d.skip("the bounds of a histogram do not rise")
		return nil
	}
	if err := d.distribution(&s); err != nil {
		return err
	}
	sum := uint64(0)
	for i, n := range d.counts {
		sum += n
		bound := math.Inf(1)
		if i < len(d.bounds) {
			bound = math.Float64frombits(d.bounds[i])
		}
		if math.IsInf(bound, 1) {
			break
		}
		if err := d.take(&part{"_bucket", "le", bound}, d.mode, float64(sum)); err != nil {
			return err
		}
	}
	return d.take(&part{"_bucket", "le", math.Inf(1)}, d.mode, float64(s.count))
}

// rise reports whether each bound of a histogram is a number above the one before it.
func rise(bounds []uint64) bool {
	for i := range bounds {
		b := math.Float64frombits(bounds[i])
		if math.IsNaN(b) || i > 0 && !(b > math.Float64frombits(bounds[i-1])) {
			return false
		}
	}
	return true
}

// totals reads count and sum of a data point. attributes and flags are as for common.
func (d *decoder) totals(r protobuf.Reader, attributes, flags int) (s distribution, err error) {
	for r.Next() {
		if !s.read(&r) {
			d.common(&r, attributes, flags)
		}
	}
	return s, r.Err()
}

// exponential reads an ExponentialHistogramDataPoint: its count and its sum.
func (d *decoder) exponential(r protobuf.Reader) error {
	s, err := d.totals(r, 1, 10)
	if err == nil {
		d.warn("of exponential histograms count and sum are stored, and no buckets")
		err = d.distribution(&s)
	}
	return err
}

// summary reads a SummaryDataPoint.
func (d *decoder) summary(r protobuf.Reader) error {
	s, err := d.totals(r, 7, 8)
	if err != nil {
		return err
	}
	s.hasSum = true
	if err := d.distribution(&s); err != nil {
		return err
	}
	return messages(r, 6, func(r protobuf.Reader) error {
		p, v := part{label: "quantile"}, 0.0
		for r.Next() {
			switch {
			case r.Is(1, protowire.Fixed64Type):
				p.bound = r.Double("a quantile")
			case r.Is(2, protowire.Fixed64Type):
				v = r.Double("the value of a quantile")
			}
		}
		if r.Err() != nil {
			return r.Err()
		}
		return d.take(&p, gauge, v)
	})
}
