package enginebench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Ingest writes the load of c into a new store in c.Dir and measures it. It makes the series first,
// and closes and opens the store, so that it measures the load on a store that has these series.
// The result shows the cost of making them separately.
func Ingest(ctx context.Context, c Config) (r Result, err error) {
	if err := c.validate(); err != nil {
		return r, err
	}
	refs, err := create(ctx, c, &r)
	if err != nil {
		return r, err
	}
	r.PeakReset = resetPeak() == nil
	watch := watchAnon()
	store, err := core.Open(c.Dir, c.Options)
	if err != nil {
		return r, err
	}
	defer func() {
		if store != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	l := newLoad(store, c)
	l.refs = refs
	if err := l.measure(ctx, c, &r); err != nil {
		return r, err
	}
	r.PeakRSSBytes, r.PeakAnonBytes = peakRSS(), watch()
	if r.DiskP50Seconds, r.DiskP99Seconds, err = diskTimes(c.Dir); err != nil {
		return r, err
	}
	if r.PeakReset {
		_ = resetPeak() // it could be reset before
	}
	if err := l.measureFetch(ctx, c.Readings, &r); err != nil {
		return r, err
	}
	r.FetchPeakRSSBytes = peakRSS()
	if c.Verify > 0 {
		if r.Verified, err = l.verify(ctx, c.Verify, func(int) int { return c.Readings }); err != nil {
			return r, err
		}
	}
	r.GeneratorCPUPerMillion = generatorCost(c)
	err = store.Close()
	store = nil
	if err != nil || c.Exec == nil {
		return r, err
	}
	return r, recovery(ctx, c, &r)
}

// create makes a store with all series, closes it, and returns its memory to the system.
func create(ctx context.Context, c Config, r *Result) (refs []core.Ref, err error) {
	_ = resetPeak() // Ingest tries again and reports it
	begin, cpu, written := time.Now(), cpuTime(), writtenBytes()
	store, err := core.Open(c.Dir, c.Options)
	if err != nil {
		return nil, err
	}
	l := newLoad(store, c)
	if err := errors.Join(l.create(ctx), store.Close()); err != nil {
		return nil, err
	}
	r.CreateSeconds, r.CreateCPUSeconds = time.Since(begin).Seconds(), (cpuTime() - cpu).Seconds()
	r.CreateWrittenBytes = writtenBytes() - written
	r.CreatePeakRSSBytes = peakRSS()
	debug.FreeOSMemory()
	return l.refs, nil
}

// measure runs the appenders and the final checkpoint between two looks at the clocks.
func (l *load) measure(ctx context.Context, c Config, r *Result) error {
	if c.CPUProfile != nil {
		if err := pprof.StartCPUProfile(c.CPUProfile); err != nil {
			return fmt.Errorf("bench: CPU profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	begin, cpu, written := time.Now(), cpuTime(), writtenBytes()
	acks, err := l.run(ctx, c.Readings, nil)
	if err != nil {
		return err
	}
	r.AppendSeconds = time.Since(begin).Seconds()
	if err := l.store.Checkpoint(ctx); err != nil {
		return fmt.Errorf("bench: final checkpoint: %w", err)
	}
	wall, cpu, written := time.Since(begin), cpuTime()-cpu, writtenBytes()-written
	r.FinalCheckpointSeconds = wall.Seconds() - r.AppendSeconds
	if c.CPUProfile != nil {
		pprof.StopCPUProfile()
	}

	r.Series, r.Samples = len(l.refs), int64(len(l.refs)*l.gen.Sources())*int64(c.Readings)
	r.SamplesPerSecond = float64(r.Samples) / wall.Seconds()
	r.CPUSecondsPerMillion = cpu.Seconds() / float64(r.Samples) * 1e6
	r.WrittenBytesPerSample = float64(written) / float64(r.Samples)
	r.AckP50Seconds = acks.Quantile(0.50).Seconds()
	r.AckP99Seconds = acks.Quantile(0.99).Seconds()
	r.AckP999Seconds = acks.Quantile(0.999).Seconds()
	r.Hours = l.hours
	r.Stats = l.store.Stats()
	r.CheckpointMaxSeconds = r.Stats.CheckpointSecondsMax
	disk, err := diskBytes(c.Dir)
	if err != nil {
		return err
	}
	r.DiskBytesPerSample = float64(disk) / float64(r.Samples)
	if got, want := r.Stats.SamplesAccepted, uint64(len(l.refs)*c.Readings); got != want {
		return fmt.Errorf("bench: the store counts %d accepted samples, %d were sent", got, want)
	}
	if c.MemProfile != nil {
		runtime.GC()
		if err := pprof.WriteHeapProfile(c.MemProfile); err != nil {
			return fmt.Errorf("bench: heap profile: %w", err)
		}
	}
	return nil
}

// create makes all series.
func (l *load) create(ctx context.Context) error {
	specs := make([]core.Spec, 0, createSpecs)
	flush := func() error {
		created, err := l.store.CreateBatch(ctx, specs)
		if err != nil {
			return fmt.Errorf("bench: create series: %w", err)
		}
		for i, c := range created {
			if c.Err != nil {
				return fmt.Errorf("bench: create %s: %w", specs[i].Path, c.Err)
			}
			l.refs = append(l.refs, c.Ref)
		}
		specs = specs[:0]
		return nil
	}
	for h := range l.gen.Hosts() {
		for i := range l.gen.HostSeries() {
			specs = append(specs, l.gen.Spec(h, i))
			if len(specs) == cap(specs) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// generatorCost returns the CPU seconds that a million readings cost to make.
func generatorCost(c Config) float64 {
	g := NewGenerator(c.Seed, c.Layout, min(c.Series, 100_000))
	var v [HostReadings]rra.Value
	hosts := 0
	begin := cpuTime()
	for hosts < 20_000 {
		for h := range g.Hosts() {
			g.Next(h, v[:])
		}
		hosts += g.Hosts()
	}
	return (cpuTime() - begin).Seconds() / float64(hosts*HostReadings) * 1e6
}

// watchAnon samples the anonymous memory of the process twenty times a second. The function that it
// returns ends that and returns the largest sample.
func watchAnon() func() int64 {
	done, peak := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		most := anonRSS()
		for {
			select {
			case <-tick.C:
				most = max(most, anonRSS())
			case <-done:
				peak <- max(most, anonRSS())
				return
			}
		}
	}()
	return func() int64 { close(done); return <-peak }
}
