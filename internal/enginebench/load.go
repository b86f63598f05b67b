package enginebench

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A load writes what a generator makes into a store.
type load struct {
	store     *core.Store
	gen       *Generator
	refs      []core.Ref // of all series, host by host
	appenders int
	depth     int
	first     int // reading number that run starts with
	began     time.Time
	hours     []Hour // seen by appender 0; read after run
	done      []int  // readings appended since the start of the load, by appender; set by run
}

func newLoad(store *core.Store, c Config) *load {
	g := NewGenerator(c.Seed, c.Layout, c.Series)
	return &load{
		store: store, gen: g, refs: make([]core.Ref, 0, g.Hosts()*g.HostSeries()),
		appenders: min(c.Appenders, g.Hosts()), depth: c.Depth,
	}
}

// appenderOf returns which appender owns host h.
func (l *load) appenderOf(h int) int { return h % l.appenders }

// run appends a number of readings of every series. It ends early if full returns true at the end
// of a step of appender 0. It waits for all batches and returns the times until they were
// acknowledged.
//
// The time of a batch runs from before Submit until its appender sees the acknowledgement. An
// appender looks at its oldest batch when all its depth batches are in flight. So the figure is
// what a client sees, including the client's own delay. By Little's law the mean is at least the
// batches in flight divided by the batches a second.
func (l *load) run(ctx context.Context, readings int, full func() bool) (*Histogram, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var stop atomic.Bool
	all := make([]*appender, l.appenders)
	together := newPace(l.appenders, l.first)
	l.began = time.Now()
	for i := range all {
		a := newAppender(l, i)
		a.pace = together
		all[i] = a
		wg.Go(func() {
			defer together.leave(i)
			if err := a.run(ctx, readings, full, &stop); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	var acks Histogram
	l.done = l.done[:0]
	for _, a := range all {
		acks.Merge(&a.acks)
		l.done = append(l.done, a.next)
	}
	return &acks, context.Cause(ctx)
}

// An appender sends the batches of its hosts, in order of their phases, step by step.
type appender struct {
	l      *load
	pace   *pace
	number int
	hosts  []int
	next   int // number of the next reading
	ring   []flight
	at     int // place in ring of the oldest batch
	acks   Histogram
	values [HostReadings]rra.Value
}

// A flight is a batch that may be in flight.
type flight struct {
	batch  core.Batch
	ticket core.Ticket
	sent   time.Time // zero: not in flight
}

func newAppender(l *load, number int) *appender {
	a := &appender{l: l, number: number, next: l.first, ring: make([]flight, l.depth)}
	for h := number; h < l.gen.Hosts(); h += l.appenders {
		a.hosts = append(a.hosts, h)
	}
	sort.SliceStable(a.hosts, func(i, j int) bool { return l.gen.Phase(a.hosts[i]) < l.gen.Phase(a.hosts[j]) })
	return a
}

func (a *appender) run(ctx context.Context, readings int, full func() bool, stop *atomic.Bool) error {
	end := a.l.first + readings
	for a.next < end && !stop.Load() {
		for _, h := range a.hosts {
			if err := a.send(ctx, h); err != nil {
				return fmt.Errorf("bench: append reading %d of host %d: %w", a.next, h, err)
			}
		}
		a.next++
		if a.pace.reached(a.number, a.next) {
			if err := a.drain(); err != nil { // or the wait would count as the store's
				return err
			}
			a.pace.wait(a.next)
		}
		if a.number == 0 {
			if a.next%(3600/step) == 0 {
				a.l.hours = append(a.l.hours, a.l.hour(a.next/(3600/step)))
			}
			if full != nil && full() {
				stop.Store(true)
			}
		}
	}
	return a.drain()
}

// drain waits for all batches in flight.
func (a *appender) drain() error {
	for range a.ring {
		if err := a.wait(); err != nil {
			return err
		}
	}
	return nil
}

// send submits one reading of all series of a host.
func (a *appender) send(ctx context.Context, h int) error {
	f := &a.ring[a.at]
	if err := a.wait(); err != nil {
		return err
	}
	a.l.gen.Next(h, a.values[:])
	at := a.l.gen.At(h, a.next)
	f.batch.Reset()
	n, sources := a.l.gen.HostSeries(), a.l.gen.Sources()
	for i, ref := range a.l.refs[h*n:][:n] {
		f.batch.Add(ref, at, a.values[i*sources:][:sources]...)
	}
	f.sent = time.Now()
	return a.l.store.Submit(ctx, &f.batch, &f.ticket)
}

// wait waits for the oldest batch and frees its place in the ring.
func (a *appender) wait() error {
	f := &a.ring[a.at]
	a.at = (a.at + 1) % len(a.ring)
	if f.sent.IsZero() {
		return nil
	}
	err := f.ticket.Wait()
	a.acks.Add(time.Since(f.sent))
	f.sent = time.Time{}
	return err
}

// hour looks at the store after an hour of the load.
func (l *load) hour(n int) Hour {
	st := l.store.Stats()
	return Hour{
		Hour: n, Seconds: time.Since(l.began).Seconds(), Checkpoints: st.Checkpoints,
		DatabaseBytes: st.DatabaseBytes, DatabaseFree: st.DatabaseFree, LogBytes: st.LogBytes, MemoryBytes: st.MemoryBytes,
	}
}
