package otlp

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A distribution is what data points of histograms and summaries have in common.
type distribution struct {
	count  uint64
	sum    float64
	hasSum bool
}

func (s *distribution) read(f *field) bool {
	switch {
	case f.is(4, protowire.Fixed64Type):
		s.count = f.n
	case f.is(5, protowire.Fixed64Type):
		s.sum, s.hasSum = f.double(), true
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
func (d *decoder) histogram(b []byte) error {
	var s distribution
	d.bounds, d.counts = d.bounds[:0], d.counts[:0]
	err := fields(b, func(f field) (err error) {
		switch {
		case s.read(&f):
		case f.num == 6:
			d.counts, err = f.fixed(d.counts)
		case f.num == 7:
			d.bounds, err = f.fixed(d.bounds)
		default:
			d.common(&f, 9, 10)
		}
		return err
	})
	if err != nil {
		return err
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

// totals reads count and sum of a data point. attrs and flags are as for common.
func (d *decoder) totals(b []byte, attrs, flags protowire.Number) (s distribution, err error) {
	err = fields(b, func(f field) error {
		if !s.read(&f) {
			d.common(&f, attrs, flags)
		}
		return nil
	})
	return s, err
}

// exponential reads an ExponentialHistogramDataPoint: its count and its sum.
func (d *decoder) exponential(b []byte) error {
	s, err := d.totals(b, 1, 10)
	if err == nil {
		d.warn("of exponential histograms count and sum are stored, and no buckets")
		err = d.distribution(&s)
	}
	return err
}

// summary reads a SummaryDataPoint.
func (d *decoder) summary(b []byte) error {
	s, err := d.totals(b, 7, 8)
	if err != nil {
		return err
	}
	s.hasSum = true
	if err := d.distribution(&s); err != nil {
		return err
	}
	return messages(b, 6, func(b []byte) error {
		p, v := part{label: "quantile"}, 0.0
		err := fields(b, func(f field) error {
			switch {
			case f.is(1, protowire.Fixed64Type):
				p.bound = f.double()
			case f.is(2, protowire.Fixed64Type):
				v = f.double()
			}
			return nil
		})
		if err != nil {
			return err
		}
		return d.take(&p, gauge, v)
	})
}
