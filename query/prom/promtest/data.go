package promtest

import (
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/labels"
)

// Step is the number of seconds between the samples of Data.
const Step = 10

// samples is how many a series of Data has: half an hour.
const samples = 180

// A Series is what a test puts into a storage.
type Series struct {
	Labels  labels.Labels
	Samples []Sample
}

// Data returns series with a sample every Step seconds, the first of them at base, which is a
// multiple of 600 seconds since 1970. Values are multiples of 1/8, so that products with Step are
// exact. No value is a negative zero, which rows do not have.
func Data(base int64) []Series {
	var all []Series
	add := func(first, n int, value func(i int) float64, text ...string) {
		s := Series{Labels: labels.FromStrings(text...)}
		for i := first; i < first+n; i++ {
			s.Samples = append(s.Samples, Sample{(base + int64(i)*Step) * 1000, math.Round(value(i)*8)/8 + 0})
		}
		all = append(all, s)
	}
	for k, instance := range []string{"a", "b", "c", "d"} {
		job := []string{"web", "db"}[k/2]
		phase := float64(k)
		add(0, samples, func(i int) float64 { return 3 * math.Sin(float64(i)/9+phase) }, "__name__", "load", "instance", instance, "job", job)
		add(0, samples, func(i int) float64 { return 20 + phase*5 + float64(i%7) }, "__name__", "temperature", "instance", instance, "job", job, "room", fmt.Sprint(k%3))
		for c, code := range []string{"200", "404", "500"} {
			// A counter that begins again from zero twice in half an hour.
			add(0, samples, func(i int) float64 { return float64((i % (70 + 11*k)) * (10 + 3*k + c*c)) },
				"__name__", "requests_total", "instance", instance, "job", job, "code", code)
		}
	}
	for _, job := range []string{"web", "db"} {
		rate := float64(len(job))
		for b, le := range []string{"0.1", "0.5", "1", "5", "+Inf"} {
			add(0, samples, func(i int) float64 { return float64(i) * rate * float64(b*b+1) }, "__name__", "seconds_bucket", "job", job, "le", le)
		}
		add(0, samples, func(i int) float64 { return float64(i) * rate * 9.5 }, "__name__", "seconds_sum", "job", job)
		add(0, samples, func(i int) float64 { return float64(i) * rate * 17 }, "__name__", "seconds_count", "job", job)
	}
	add(90, 90, func(i int) float64 { return float64(i) }, "__name__", "late", "instance", "a")
	add(0, 90, func(i int) float64 { return float64(-i) }, "__name__", "early", "instance", "a")
	add(0, samples, func(int) float64 { return 1 }, "__name__", "info_of", "instance", "a", "version", "1.2", "path", "/x y/é")
	add(0, samples, func(i int) float64 { return []float64{0, 1, -1, 0.5, 1e9}[i%5] }, "__name__", "odd", "instance", "z")
	return all
}
