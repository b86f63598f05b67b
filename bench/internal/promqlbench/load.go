package promqlbench

import (
	"context"
	"fmt"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/rondo-db/rondo/bench/internal/writebench"
)

const (
	step      = 15           // seconds between two samples of a series
	samples   = 240 + 20     // of a series: an hour, and the five minutes before it
	slice     = samples / 10 // samples of a series in a request
	atOnce    = 500          // series of a request
	groupSize = 100          // series of a metric with one value of the label group
)

// feed sends the samples of n gauges and n counters, the last of them at the second end. They are
// sent in order of time: Prometheus refuses samples an hour older than its newest.
func feed(ctx context.Context, s *writebench.Server, n int, end int64) error {
	var series []prompb.TimeSeries
	var packed []byte
	for from := 0; from < samples; from += slice {
		for i := range 2 * n {
			series = append(series, prompb.TimeSeries{Labels: labels(i%n, i < n)})
			x := &series[len(series)-1]
			for k := from; k < min(from+slice, samples); k++ {
				x.Samples = append(x.Samples, prompb.Sample{Value: value(i%n, k, i < n), Timestamp: 1000 * (end - step*int64(samples-1-k))})
			}
			if len(series) < atOnce && i < 2*n-1 {
				continue
			}
			message, err := (&prompb.WriteRequest{Timeseries: series}).Marshal()
			if err != nil {
				return err
			}
			packed = snappy.Encode(packed[:cap(packed)], message)
			if _, err := s.Write(ctx, packed); err != nil {
				return err
			}
			series = series[:0]
		}
	}
	return nil
}

// labels returns the labels of gauge or counter i.
func labels(i int, gauge bool) []prompb.Label {
	name := "requests_total"
	if gauge {
		name = "load"
	}
	return []prompb.Label{
		{Name: "__name__", Value: name},
		{Name: "group", Value: fmt.Sprintf("g%d", i/groupSize)},
		{Name: "instance", Value: instance(i)},
		{Name: "job", Value: "node"},
		{Name: "rack", Value: fmt.Sprintf("r%d", i%50)},
	}
}

func instance(i int) string { return fmt.Sprintf("host-%05d.example.com:9100", i) }

// value returns sample k of gauge or counter i.
func value(i, k int, gauge bool) float64 {
	if gauge {
		return float64((i*13+k*7)%1000) / 8
	}
	return float64(k * (1 + i%7) * step)
}
