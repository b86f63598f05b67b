package clusterbench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/enginebench"
	"github.com/rondo-db/rondo/rra"
)

// createSpecs bounds how many series are made at a time.
const createSpecs = 10_000

// maxAhead is how many readings a sender may be ahead of the slowest: hosts read by one clock.
const maxAhead = 2

// A load sends what a generator makes.
type load struct {
	store core.Engine
	gen   *enginebench.Generator
	refs  []core.Ref // of all series, host by host
	hosts int        // of a batch
	under int        // batches of a sender on their way
	all   []*sender
	next  int // number of the next reading
}

// newLoad makes all series.
func newLoad(ctx context.Context, c *Config, store core.Engine) (*load, error) {
	l := &load{store: store, gen: enginebench.NewGenerator(c.Seed, c.Layout, c.Series)}
	l.hosts = (c.Batch + enginebench.HostReadings - 1) / enginebench.HostReadings
	senders := min(c.Senders, (l.gen.Hosts()+l.hosts-1)/l.hosts)
	l.under = max(c.Under/senders, 1)
	for i := range senders {
		s := &sender{l: l}
		for h := i; h < l.gen.Hosts(); h += senders {
			s.hosts = append(s.hosts, h)
		}
		slices.SortStableFunc(s.hosts, func(a, b int) int { return int(l.gen.Phase(a) - l.gen.Phase(b)) })
		l.all = append(l.all, s)
	}
	return l, l.create(ctx)
}

func (l *load) create(ctx context.Context) error {
	specs := make([]core.Spec, 0, createSpecs)
	n := l.gen.Hosts() * l.gen.HostSeries()
	for i := range n {
		specs = append(specs, l.gen.Spec(i/l.gen.HostSeries(), i%l.gen.HostSeries()))
		if len(specs) < cap(specs) && i < n-1 {
			continue
		}
		created, err := l.store.CreateBatch(ctx, specs)
		if err != nil {
			return fmt.Errorf("create series: %w", err)
		}
		for k, c := range created {
			if c.Err != nil {
				return fmt.Errorf("create %s: %w", specs[k].Path, c.Err)
			}
			l.refs = append(l.refs, c.Ref)
		}
		specs = specs[:0]
	}
	return nil
}

// run sends a number of readings of every series, rate samples a second or as fast as they are
// taken (0), and waits until all are acknowledged.
func (l *load) run(ctx context.Context, readings int, rate float64) (samples int64, acks *enginebench.Histogram, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	began := time.Now()
	until := l.next + readings
	steps := newSteps(len(l.all), l.next)
	for i, s := range l.all {
		s.acks = enginebench.Histogram{}
		s.began, s.rate, s.sent = began, rate/float64(len(l.all)), 0
		wg.Go(func() {
			if err := s.run(ctx, i, l.next, until, steps); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	l.next = until
	acks = &enginebench.Histogram{}
	for _, s := range l.all {
		acks.Merge(&s.acks)
	}
	return int64(readings * l.gen.Hosts() * enginebench.HostReadings), acks, context.Cause(ctx)
}

// A sender sends the batches of its hosts.
type sender struct {
	l     *load
	hosts []int

	began time.Time
	rate  float64 // samples a second; 0: as fast as it can
	sent  int64   // samples

	free   []*flight
	back   chan *flight // whose batch is acknowledged
	acks   enginebench.Histogram
	values [enginebench.HostReadings]rra.Value
}

// A flight is a batch on its way.
type flight struct {
	batch  core.Batch
	ticket core.Ticket
	due    time.Time
	took   time.Duration // from due until it was acknowledged
}

func (s *sender) run(ctx context.Context, number, from, until int, steps *steps) error {
	if s.back == nil {
		s.back = make(chan *flight, s.l.under)
		for range s.l.under {
			f := &flight{}
			f.ticket.Notify(func() {
				f.took = time.Since(f.due)
				s.back <- f
			})
			s.free = append(s.free, f)
		}
	}
	for reading := from; reading < until; reading++ {
		for hosts := range slices.Chunk(s.hosts, s.l.hosts) {
			if err := s.send(ctx, reading, hosts); err != nil {
				return fmt.Errorf("reading %d: %w", reading, err)
			}
		}
		if err := steps.reached(ctx, number, reading+1); err != nil {
			return err
		}
	}
	for len(s.free) < s.l.under {
		if err := s.take(); err != nil {
			return err
		}
	}
	return nil
}

// send sends one reading of some hosts.
func (s *sender) send(ctx context.Context, reading int, hosts []int) error {
	due := time.Now()
	if s.rate > 0 {
		due = s.began.Add(time.Duration(float64(s.sent) / s.rate * 1e9))
		if wait := time.Until(due); wait > time.Millisecond {
			time.Sleep(wait)
		}
	}
	for len(s.free) == 0 || len(s.back) > 0 {
		if err := s.take(); err != nil {
			return err
		}
	}
	f := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	f.batch.Reset()
	gen := s.l.gen
	n, sources := gen.HostSeries(), gen.Sources()
	for _, h := range hosts {
		gen.Next(h, s.values[:])
		at := gen.At(h, reading)
		for i, ref := range s.l.refs[h*n:][:n] {
			f.batch.Add(ref, at, s.values[i*sources:][:sources]...)
		}
	}
	if f.due = due; s.rate == 0 {
		f.due = time.Now()
	}
	s.sent += int64(f.batch.Len())
	return s.l.store.Submit(ctx, &f.batch, &f.ticket)
}

// take waits for a batch to be acknowledged.
func (s *sender) take() error {
	f := <-s.back
	s.free = append(s.free, f)
	s.acks.Add(f.took)
	return f.ticket.Wait()
}

// steps keep senders together.
type steps struct {
	mu    sync.Mutex // guards what follows
	next  []int      // reading, by sender
	moved chan struct{}
}

func newSteps(n, first int) *steps {
	return &steps{next: slices.Repeat([]int{first}, n), moved: make(chan struct{})}
}

// reached notes that a sender goes on to a reading, and waits until that is not too far ahead.
func (s *steps) reached(ctx context.Context, sender, reading int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[sender] = reading
	close(s.moved)
	s.moved = make(chan struct{})
	for reading-maxAhead > slices.Min(s.next) {
		moved := s.moved
		s.mu.Unlock()
		var err error
		select {
		case <-moved:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		s.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}
