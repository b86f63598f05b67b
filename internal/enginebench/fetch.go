package enginebench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

const (
	oneFetches      = 4000
	thousandFetches = 30
	thousand        = 1000
	hourRows        = 360 // rows of the finest archive that a fetch reads
)

// measureFetch reads the last hour of the finest archive: of one series at a time, of
// a thousand drawn from all, and of a thousand that are ten whole hosts. Every fetch
// is done twice and the second one timed, in another order.
func (l *load) measureFetch(ctx context.Context, readings int, r *Result) error {
	rnd := rand.New(rand.NewPCG(l.gen.seed, 1))
	one, err := l.fetchOnes(ctx, rnd, readings)
	if err != nil {
		return err
	}
	r.FetchOneP50Seconds, r.FetchOneP99Seconds = quantile(one, 0.5), quantile(one, 0.99)
	scattered, err := l.fetchThousands(ctx, readings, func() []int { return rnd.Perm(len(l.refs))[:min(thousand, len(l.refs))] })
	if err != nil {
		return err
	}
	r.FetchThousandP50Seconds = quantile(scattered, 0.5)
	hosts, err := l.fetchThousands(ctx, readings, func() (series []int) {
		for _, h := range rnd.Perm(l.gen.Hosts())[:min(thousand/l.gen.HostSeries(), l.gen.Hosts())] {
			for i := range l.gen.HostSeries() {
				series = append(series, h*l.gen.HostSeries()+i)
			}
		}
		return series
	})
	if err != nil {
		return err
	}
	r.FetchTenHostsP50Seconds = quantile(hosts, 0.5)
	return nil
}

// fetchOnes returns how long single fetches took, sorted.
func (l *load) fetchOnes(ctx context.Context, rnd *rand.Rand, readings int) ([]time.Duration, error) {
	series := make([]int, oneFetches)
	for i := range series {
		series[i] = rnd.IntN(len(l.refs))
	}
	took := make([]time.Duration, 0, len(series))
	for _, timed := range []bool{false, true} {
		for _, i := range series {
			end := l.lastRow(i, readings)
			begin := time.Now()
			rows, err := l.store.Fetch(ctx, l.refs[i], 0, end-hourRows*step, end)
			if timed {
				took = append(took, time.Since(begin))
			}
			if err == nil {
				err = checkHour(&rows, readings)
			}
			if err != nil {
				return nil, fmt.Errorf("bench: fetch series %d: %w", i, err)
			}
		}
		rnd.Shuffle(len(series), func(i, j int) { series[i], series[j] = series[j], series[i] })
	}
	slices.Sort(took)
	return took, nil
}

// fetchThousands returns how long fetches of the series that pick names took, sorted.
func (l *load) fetchThousands(ctx context.Context, readings int, pick func() []int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, thousandFetches)
	end := l.lastRow(0, readings)
	var refs []core.Ref
	for range thousandFetches {
		refs = refs[:0]
		for _, i := range pick() {
			refs = append(refs, l.refs[i])
			end = min(end, l.lastRow(i, readings))
		}
		for _, timed := range []bool{false, true} {
			var seen int
			var bad error
			begin := time.Now()
			err := l.store.FetchMany(ctx, core.Spans(refs, 0, end-hourRows*step, end), func(i int, rows *core.Rows, err error) {
				seen++
				if err == nil {
					err = checkHour(rows, readings-1)
				}
				if err != nil {
					bad = fmt.Errorf("series %d: %w", refs[i], err)
				}
			})
			if timed {
				took = append(took, time.Since(begin))
			}
			if err == nil {
				err = bad
			}
			if err == nil && seen != len(refs) {
				err = fmt.Errorf("%d series came back", seen)
			}
			if err != nil {
				return nil, fmt.Errorf("bench: fetch %d series: %w", len(refs), err)
			}
		}
	}
	slices.Sort(took)
	return took, nil
}

// lastRow returns the end of the newest row of 10 s of series i after so many readings.
func (l *load) lastRow(i, readings int) int64 {
	return l.gen.At(i/l.gen.HostSeries(), readings-1).Unix() / step * step
}

// checkHour refuses rows that do not make an hour, or that have an unknown row in the middle
// although it was sent.
func checkHour(r *core.Rows, readings int) error {
	n := len(r.Values) / len(r.DS)
	if n != hourRows || r.Step != step {
		return fmt.Errorf("%d rows of %d s, want %d of %d s", n, r.Step, hourRows, step)
	}
	if known := min(readings-2, hourRows); known > 0 && math.IsNaN(r.Values[(hourRows-1-known/2)*len(r.DS)]) {
		return fmt.Errorf("row %d of %d is unknown", hourRows-1-known/2, hourRows)
	}
	return nil
}

// quantile returns the q-quantile of sorted durations, in seconds.
func quantile(sorted []time.Duration, q float64) float64 {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Seconds()
}
