package enginebench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// createSpecs bounds how many series one CreateBatch makes, and with it the memory that takes.
const createSpecs = 5000

// A Config says what load is put on which store.
type Config struct {
	Dir       string // the database folder; empty or absent
	Series    int    // rounded up to whole hosts
	Readings  int    // readings of every series; 360 make an hour
	Appenders int    // goroutines that append, each for hosts of its own
	Depth     int    // batches an appender keeps in flight
	Seed      uint64
	Options   core.Options
	// series compared, bit for bit, with what was sent; after ingest and again after recovery
	Verify int

	// Exec returns the command that runs Child(ctx, arg, out). Nil: recovery is not measured.
	Exec func(ctx context.Context, arg string) *exec.Cmd `json:"-"`

	RecoveryProfile string // file that takes a CPU profile of the recovery; may be empty

	CPUProfile io.Writer `json:"-"` // takes a CPU profile of ingest and final checkpoint; may be nil
	MemProfile io.Writer `json:"-"` // takes a heap profile after them; may be nil
}

func (c Config) validate() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"series", c.Series}, {"readings", c.Readings}, {"appenders", c.Appenders}, {"depth", c.Depth}} {
		if n.value < 1 {
			return fmt.Errorf("bench: %s is %d, must be at least 1", n.name, n.value)
		}
	}
	return nil
}

// Ingest puts the load of c on a new store in c.Dir and measures it. The series are
// created first and the store is closed and opened again, so that what is measured
// is the load on a store that has these series. What creating them took is told apart.
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
	if err := l.measureFetch(ctx, c.Readings, &r); err != nil {
		return r, err
	}
	r.PeakRSSBytes = peakRSS()
	r.PeakAnonBytes = watch()
	if c.Verify > 0 {
		if r.Verified, err = l.verify(ctx, c.Verify, func(int) int { return c.Readings }); err != nil {
			return r, err
		}
	}
	r.GeneratorCPUPerMillion = generatorCost(c.Seed, c.Series)
	err = store.Close()
	store = nil
	if err != nil || c.Exec == nil {
		return r, err
	}
	return r, recovery(ctx, c, &r)
}

// create makes a store with all series, closes it, and gives its memory back.
func create(ctx context.Context, c Config, r *Result) (refs []core.Ref, err error) {
	_ = resetPeak() // tried again, and told, where it matters
	begin, written := time.Now(), writtenBytes()
	store, err := core.Open(c.Dir, c.Options)
	if err != nil {
		return nil, err
	}
	l := newLoad(store, c)
	if err := errors.Join(l.create(ctx), store.Close()); err != nil {
		return nil, err
	}
	r.CreateSeconds = time.Since(begin).Seconds()
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

	r.Series, r.Samples = len(l.refs), int64(len(l.refs))*int64(c.Readings)
	r.SamplesPerSecond = float64(r.Samples) / wall.Seconds()
	r.CPUSecondsPerMillion = cpu.Seconds() / float64(r.Samples) * 1e6
	r.WrittenBytesPerSample = float64(written) / float64(r.Samples)
	r.AckP50Seconds = acks.Quantile(0.50).Seconds()
	r.AckP99Seconds = acks.Quantile(0.99).Seconds()
	r.Hours = l.hours
	r.Stats = l.store.Stats()
	r.CheckpointMaxSeconds = r.Stats.CheckpointSecondsMax
	disk, err := diskBytes(c.Dir)
	if err != nil {
		return err
	}
	r.DiskBytesPerSample = float64(disk) / float64(r.Samples)
	if got := r.Stats.SamplesAccepted; got != uint64(r.Samples) {
		return fmt.Errorf("bench: the store counts %d accepted samples, %d were sent", got, r.Samples)
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
		for i := range HostSeries {
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
func generatorCost(seed uint64, series int) float64 {
	g := NewGenerator(seed, min(series, 100_000))
	var v [HostSeries]rra.Value
	hosts := 0
	begin := cpuTime()
	for hosts < 20_000 {
		for h := range g.Hosts() {
			g.Next(h, v[:])
		}
		hosts += g.Hosts()
	}
	return (cpuTime() - begin).Seconds() / float64(hosts*HostSeries) * 1e6
}

// watchAnon looks at the anonymous memory of the process twenty times a second
// until the function it returns is called, which returns the most it saw.
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
