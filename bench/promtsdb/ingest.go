package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/compression"

	"github.com/rondo-db/rondo/internal/enginebench"
	"github.com/rondo-db/rondo/rra"
)

// layout gives each reading a series of its own. The TSDB has no archives.
var layout = enginebench.Layout{Archives: 5, Sources: 1}

// openDB opens the TSDB with the settings of Prometheus.
func openDB(dir string) (*tsdb.DB, error) {
	o := tsdb.DefaultOptions()
	o.WALCompression = compression.Snappy
	return tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, o, nil)
}

// A filler appends the load.
type filler struct {
	o    *options
	db   *tsdb.DB
	gen  *enginebench.Generator
	refs []storage.SeriesRef
}

// fill makes all series, appends the load, says what that cost, and waits to be killed.
func fill(ctx context.Context, o *options, out io.Writer) error {
	db, err := openDB(o.dir)
	if err != nil {
		return err
	}
	f := &filler{o: o, db: db, gen: enginebench.NewGenerator(o.seed, layout, o.series)}
	f.refs = make([]storage.SeriesRef, f.gen.Hosts()*enginebench.HostReadings)
	// The series are made before, as in `rondo bench ingest`.
	if err := f.round(ctx, -1, nil); err != nil {
		return err
	}
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // else the peak counts from the start
	took := make([][]time.Duration, o.appenders)
	began, cpu := time.Now(), cpuTime()
	for k := range o.readings {
		if err := f.round(ctx, k, took); err != nil {
			return err
		}
	}
	wall, spent := time.Since(began), cpuTime()-cpu
	all := slices.Concat(took...)
	slices.Sort(all)
	n := float64(len(f.refs)) * float64(o.readings)
	err = json.NewEncoder(out).Encode(Result{
		SamplesPerSecond:     n / wall.Seconds(),
		CPUSecondsPerMillion: spent.Seconds() / n * 1e6,
		PeakRSSBytes:         peakRSS(),
		AckP50Seconds:        all[len(all)/2].Seconds(),
		AckP99Seconds:        all[len(all)*99/100].Seconds(),
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// round appends reading k of all hosts. Reading -1 makes the series, with a sample each before the
// first. took, if not nil, takes the times of the commits, by appender.
func (f *filler) round(ctx context.Context, k int, took [][]time.Duration) error {
	errs := make([]error, f.o.appenders)
	var wg sync.WaitGroup
	for a := range f.o.appenders {
		wg.Go(func() {
			var values [enginebench.HostReadings]rra.Value
			for h := a; h < f.gen.Hosts(); h += f.o.appenders {
				if k >= 0 {
					f.gen.Next(h, values[:])
				}
				began := time.Now()
				if errs[a] = f.host(ctx, h, k, values[:]); errs[a] != nil {
					return
				}
				if took != nil {
					took[a] = append(took[a], time.Since(began))
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// host appends one reading of all series of a host.
func (f *filler) host(ctx context.Context, h, k int, values []rra.Value) error {
	at := int64(f.gen.At(h, k)) / int64(rra.Seconds(1)) * 1000
	refs := f.refs[h*enginebench.HostReadings:][:enginebench.HostReadings]
	app := f.db.Appender(ctx)
	for i := range refs {
		var ls labels.Labels
		if refs[i] == 0 {
			ls = labelsOf(f.gen, h, i)
		}
		ref, err := app.Append(refs[i], ls, at, number(values[i]))
		if err != nil {
			return errors.Join(fmt.Errorf("series %d of host %d: %w", i, h, err), app.Rollback())
		}
		refs[i] = ref
	}
	return app.Commit()
}

func labelsOf(g *enginebench.Generator, h, i int) labels.Labels {
	b := labels.NewScratchBuilder(3)
	for _, l := range g.Spec(h, i).Labels {
		b.Add(l.Name, l.Value)
	}
	b.Sort()
	return b.Labels()
}

// number returns a reading as a scrape would give it.
func number(v rra.Value) float64 {
	if v.Tag == rra.TagUint {
		return float64(v.Bits)
	}
	return math.Float64frombits(v.Bits)
}

// open opens the database after a kill, asks for the last hour of a series, and says how long that
// took.
func open(ctx context.Context, o *options, out io.Writer) error {
	gen := enginebench.NewGenerator(o.seed, layout, 1)
	began := time.Now()
	db, err := openDB(o.dir)
	if err != nil {
		return err
	}
	last := int64(gen.At(0, o.readings-1)) / int64(rra.Seconds(1)) * 1000
	q, err := db.Querier(last-3600_000, last)
	if err != nil {
		return err
	}
	var matchers []*labels.Matcher
	labelsOf(gen, 0, 0).Range(func(l labels.Label) {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value))
	})
	n := 0
	set := q.Select(ctx, false, nil, matchers...)
	for set.Next() {
		for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
			n++
		}
	}
	if err := errors.Join(set.Err(), q.Close()); err != nil {
		return err
	}
	if want := min(o.readings, 360); n < want {
		return fmt.Errorf("%d samples are there after the kill, want %d", n, want)
	}
	if err := json.NewEncoder(out).Encode(Result{RecoverySeconds: time.Since(began).Seconds()}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// peakRSS returns the most memory this process has had resident, pages of mapped files included.
func peakRSS() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(f[0], 10, 64) // else 0
	return kilobytes << 10
}
