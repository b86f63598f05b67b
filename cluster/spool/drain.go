package spool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// A Target is what takes the samples of a partition. A core.Engine is one.
type Target interface {
	Lookup(path string) (core.Ref, error)
	CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error)
	Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error
}

const (
	// deliveries is how many partitions are delivered at the same time.
	deliveries = 8
	// lookups is how many series of a chunk are looked up at the same time.
	lookups = 16
	// knownRefs bounds the references that are kept from one chunk of a partition to the next.
	knownRefs = 1 << 16
	// chunkBytes is how much is delivered at once, at least one record.
	chunkBytes = 1 << 20
	// The times between attempts grow from firstWait to maxWait.
	firstWait = 20 * time.Millisecond
	maxWait   = time.Second
)

// Run delivers what the spool has to an engine until ctx ends. While nobody leads a partition,
// leads waits or returns an error. A chunk that was not taken is delivered again. What of it was
// stored all the same is late then: a series takes one sample of a time.
func (s *Spool) Run(ctx context.Context, to Target, leads func(ctx context.Context, partition int) error) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots, done, busy := make(chan struct{}, deliveries), make(chan *part), make(map[*part]bool)
	for {
		for _, p := range s.all() {
			if !busy[p] {
				busy[p] = true
				wg.Go(func() {
					p.deliverAll(ctx, to, leads, slots)
					done <- p
				})
			}
		}
		select {
		case p := <-done:
			delete(busy, p)
		case <-s.wake:
		case <-ctx.Done():
			for range busy {
				<-done
			}
			return
		}
	}
}

// deliverAll delivers what a part has until nothing is left or ctx ends.
func (p *part) deliverAll(ctx context.Context, to Target, leads func(ctx context.Context, partition int) error, slots chan struct{}) {
	wait := firstWait
	told := false
	known := make(map[string]core.Ref)
	for ctx.Err() == nil {
		err := leads(ctx, p.number)
		if err == nil {
			var end bool
			if end, err = p.deliverChunk(ctx, to, slots, known); end {
				if err != nil {
					p.spool.o.Logger.Error("a spool's folder was not put away", "partition", p.number, "error", err)
				}
				return
			}
		}
		switch {
		case err == nil:
			wait, told = firstWait, false
		case ctx.Err() == nil:
			if !told {
				p.spool.o.Logger.Warn("spooled samples cannot be delivered yet", "partition", p.number, "error", err)
				told = true
			}
			_ = sleep.For(ctx, wait) // the loop looks whether ctx goes on
			wait = min(2*wait, maxWait)
		}
	}
}

// deliverChunk delivers the oldest samples. known are references of earlier chunks. It returns end
// if nothing is left.
func (p *part) deliverChunk(ctx context.Context, to Target, slots chan struct{}, known map[string]core.Ref) (end bool, err error) {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	c, err := p.take()
	switch {
	case isDamage(err) && c.last == 0:
		p.mu.Lock()
		defer p.mu.Unlock()
		return true, p.setAside(err)
	case err != nil && c.last == 0:
		return false, err
	case c.last == 0:
		return p.finish()
	}
	p.spool.o.step("taken")
	if err := p.spool.deliver(ctx, to, c.samples, known); err != nil {
		return false, err
	}
	p.next = c.last + 1
	p.hold(-c.bytes)
	p.spool.o.step("delivered")
	if err := p.log.Truncate(c.last); err != nil { // it is tried again behind the next chunk
		p.spool.o.Logger.Warn("spool was not truncated", "partition", p.number, "error", err)
	}
	p.spool.o.step("truncated")
	return false, nil
}

// A chunk is what is delivered at once.
type chunk struct {
	samples []Sample
	last    wal.Pos // of the last record; 0: there is none
	bytes   int64
}

// errEnough ends a replay.
var errEnough = errors.New("enough")

// take reads the oldest samples. After an error the chunk has what stands before it. The error
// wraps core.ErrNewer, and the record stays, if a newer version of rondo wrote the next one.
func (p *part) take() (c chunk, err error) {
	err = p.log.Replay(p.next, func(pos wal.Pos, rec []byte) error {
		if c.last > 0 && c.bytes+int64(len(rec)) > chunkBytes {
			return errEnough
		}
		before := len(c.samples)
		at, err := parseRecord(rec, func(s Sample) { c.samples = append(c.samples, s) })
		if errors.Is(err, core.ErrNewer) {
			c.samples = c.samples[:before]
			return fmt.Errorf("position %d: %w", pos, err)
		}
		if err != nil { // what stood before it in the record is delivered
			p.spool.counted.drop(Refused, 1)
			p.spool.o.Logger.Error("a spooled record does not parse", "partition", p.number, "position", pos, "error", err)
		} else if c.last == 0 {
			p.oldest.Store(at)
		}
		c.last = pos
		c.bytes += int64(len(rec))
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return c, err
}

// finish removes the log of a part, if nothing was added meanwhile.
func (p *part) finish() (end bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log.Last() >= p.next {
		return false, nil
	}
	if err := p.retire(doneSuffix); err != nil {
		return true, err
	}
	p.spool.o.step("renamed")
	if err := os.RemoveAll(p.dir + doneSuffix); err != nil {
		p.spool.o.Logger.Warn("spool was not removed", "partition", p.number, "error", err)
	}
	p.spool.o.Logger.Info("all spooled samples were delivered", "partition", p.number)
	return true, nil
}

// setAside gives the part's folder another name because of damage. p.mu is held.
func (p *part) setAside(cause error) error {
	p.spool.counted.setAside.Add(1)
	suffix := fmt.Sprintf("%s-%d", damagedSuffix, time.Now().UnixNano())
	p.spool.o.Logger.Error("a spool's log is damaged: it was set aside, and the rest of its samples is not delivered",
		"partition", p.number, "folder", p.dir+suffix, "error", cause)
	return p.retire(suffix)
}

// retire closes the log and renames its folder. p.mu is held.
func (p *part) retire(suffix string) error {
	err := p.closeLog()
	if e := os.RemoveAll(p.dir + suffix); err == nil {
		err = e
	}
	if e := os.Rename(p.dir, p.dir+suffix); err == nil {
		err = e
	}
	p.hold(-p.bytes.Load())
	p.oldest.Store(0)
	p.holds.Store(false)
	return err
}

// deliver gives samples to a leader, and makes the series that are missing. It returns an error if
// the samples are to be delivered again.
func (s *Spool) deliver(ctx context.Context, to Target, samples []Sample, known map[string]core.Ref) error {
	had := len(known) > 0
	if err := s.find(ctx, to, samples, known); err != nil {
		return err
	}
	s.o.step("made")
	var b core.Batch
	n := 0
	for i := range samples {
		x := &samples[i]
		ref, ok := known[x.Path]
		if !ok {
			s.counted.drop(Refused, 1)
			continue
		}
		b.AddText(ref, x.At, x.Values, x.Texts)
		n++
	}
	if n == 0 {
		return nil
	}
	var t core.Ticket
	err := to.Submit(ctx, &b, &t)
	if err == nil {
		err = t.Wait()
	}
	if len(known) > knownRefs {
		clear(known)
	}
	if r, ok := errors.AsType[*core.RejectedError](err); ok {
		if had && r.Other > 0 {
			clear(known)
			return fmt.Errorf("a series may have been made anew meanwhile, all are looked up again: %w", err)
		}
		s.counted.delivered.Add(uint64(r.Accepted))
		s.counted.late.Add(uint64(r.Late))
		s.counted.drop(Refused, r.Other)
		return nil
	}
	if err == nil {
		s.counted.delivered.Add(uint64(n))
	}
	return err
}

// find adds the references of the samples' series to those that are known. A series that cannot be
// made gets none.
func (s *Spool) find(ctx context.Context, to Target, samples []Sample, known map[string]core.Ref) error {
	wanted := make(map[string]*core.Spec) // by path; nil: nobody has said how it is made
	for i := range samples {
		x := &samples[i]
		if _, ok := known[x.Path]; ok {
			continue
		}
		if spec := wanted[x.Path]; spec == nil {
			wanted[x.Path] = x.Make
		}
	}
	var specs []core.Spec
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(wanted)) {
		if spec := wanted[path]; spec != nil {
			specs = append(specs, *spec)
		} else {
			paths = append(paths, path)
		}
	}
	if err := lookUp(ctx, to, paths, known); err != nil || len(specs) == 0 {
		return err
	}
	made, err := to.CreateBatch(ctx, specs)
	if err != nil {
		return err
	}
	for i, m := range made {
		if m.Err == nil || errors.Is(m.Err, core.ErrExists) {
			known[specs[i].Path] = m.Ref
		} else {
			s.o.Logger.Warn("a spooled series cannot be made", "path", specs[i].Path, "error", m.Err)
		}
	}
	return nil
}

// lookUp adds the references of the series that exist to those that are known.
func lookUp(ctx context.Context, to Target, paths []string, known map[string]core.Ref) error {
	refs := make([]core.Ref, len(paths))
	g, ctx := errgroup.WithContext(ctx) // a leader that is gone may take long for each
	g.SetLimit(lookups)
	for i, path := range paths {
		g.Go(func() error {
			err := ctx.Err()
			if err == nil {
				refs[i], err = to.Lookup(path)
			}
			if errors.Is(err, core.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	err := g.Wait()
	for i, path := range paths {
		if refs[i] != 0 {
			known[path] = refs[i]
		}
	}
	return err
}
