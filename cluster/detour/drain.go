package detour

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

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

// deliverAll delivers what a backlog has until nothing is left or ctx ends. While nobody leads the
// partition, leads waits or returns an error. A chunk that was not taken is delivered again.
func (b *backlog) deliverAll(ctx context.Context, leads func(ctx context.Context, p int) error) {
	known := make(map[string]core.Ref)
	for wait := firstWait; ctx.Err() == nil; {
		end, err := false, leads(ctx, b.p)
		if err == nil {
			end, err = b.deliverChunk(ctx, known)
		}
		switch {
		case end && err != nil:
			b.s.o.Logger.Error("a spool's folder was not put away", "partition", b.p, "error", err)
			return
		case end:
			return
		case err == nil:
			wait = firstWait
		case ctx.Err() == nil:
			const what = "spooled samples cannot be delivered yet"
			b.s.lines.Log(b.s.o.Logger.Warn, fmt.Sprint(what, b.p), time.Now(), what, "partition", b.p, "error", err)
			_ = sleep.For(ctx, wait) // the loop looks whether ctx goes on
			wait = min(2*wait, maxWait)
		}
	}
}

// deliverChunk delivers the oldest samples. known are references of earlier chunks. It returns end
// if nothing is left.
func (b *backlog) deliverChunk(ctx context.Context, known map[string]core.Ref) (end bool, err error) {
	select {
	case b.s.slots <- struct{}{}:
		defer func() { <-b.s.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	c, err := b.take()
	switch {
	case isDamage(err) && c.last == 0:
		b.logMu.Lock()
		defer b.logMu.Unlock()
		return true, b.setAside(err)
	case err != nil && c.last == 0:
		return false, err
	case c.last == 0:
		return b.finish()
	}
	b.s.o.step("taken")
	if err := b.s.give(ctx, c.samples, known); err != nil {
		return false, err
	}
	b.next = c.last + 1
	b.hold(-c.bytes)
	b.s.o.step("delivered")
	if err := b.log.Truncate(c.last); err != nil { // it is tried again behind the next chunk
		b.s.o.Logger.Warn("spool was not truncated", "partition", b.p, "error", err)
	}
	b.s.o.step("truncated")
	return false, nil
}

// A chunk is what is delivered at once.
type chunk struct {
	samples []sample
	last    wal.Pos // of the last record; 0: there is none
	bytes   int64
}

// errEnough ends a replay.
var errEnough = errors.New("enough")

// take reads the oldest samples. After an error the chunk has what stands before it. The error
// wraps core.ErrNewer, and the record stays, if a newer version of rondo wrote the next one.
func (b *backlog) take() (c chunk, err error) {
	err = b.log.Replay(b.next, func(pos wal.Pos, rec []byte) error {
		if c.last > 0 && c.bytes+int64(len(rec)) > chunkBytes {
			return errEnough
		}
		before := len(c.samples)
		at, err := parseRecord(rec, func(s sample) { c.samples = append(c.samples, s) })
		if errors.Is(err, core.ErrNewer) {
			c.samples = c.samples[:before]
			return fmt.Errorf("position %d: %w", pos, err)
		}
		if err != nil { // what stood before it in the record is delivered
			b.s.drop(Refused, 1)
			b.s.o.Logger.Error("a spooled record does not parse", "partition", b.p, "position", pos, "error", err)
		} else if c.last == 0 {
			b.since.Store(max(at, 1))
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
func (b *backlog) finish() (end bool, err error) {
	b.logMu.Lock()
	defer b.logMu.Unlock()
	if b.log.Last() >= b.next {
		return false, nil
	}
	if err := b.retire(doneSuffix); err != nil {
		return true, err
	}
	b.s.o.step("renamed")
	if err := os.RemoveAll(b.dir + doneSuffix); err != nil {
		b.s.o.Logger.Warn("spool was not removed", "partition", b.p, "error", err)
	}
	b.s.o.Logger.Info("all spooled samples were delivered", "partition", b.p)
	return true, nil
}

// give gives samples to the leader, and makes the series that are missing. It returns an error if
// the samples are to be given again. What of them was stored all the same is late then: a series
// takes one sample of a time.
func (s *spool) give(ctx context.Context, samples []sample, known map[string]core.Ref) error {
	had := len(known) > 0
	if err := s.known(ctx, samples, known); err != nil {
		return err
	}
	s.o.step("made")
	var b core.Batch
	n := 0
	for i := range samples {
		x := &samples[i]
		ref, ok := known[x.Path]
		if !ok {
			s.drop(Refused, 1)
			continue
		}
		b.AddText(ref, x.At, x.Values, x.Texts)
		n++
	}
	if n == 0 {
		return nil
	}
	var t core.Ticket
	err := s.o.to.Submit(ctx, &b, &t)
	if err == nil {
		err = t.Wait()
	}
	if len(known) > knownRefs {
		clear(known)
	}
	r, ok := errors.AsType[*core.RejectedError](err)
	switch {
	case err == nil:
		r = &core.RejectedError{Accepted: n}
	case !ok:
		return err
	case had && r.Other > 0:
		clear(known)
		return fmt.Errorf("a series may have been made anew meanwhile, all are looked up again: %w", err)
	}
	s.count(func(st *Stats) {
		st.Delivered += uint64(r.Accepted)
		st.Late += uint64(r.Late)
		st.Dropped[Refused] += uint64(r.Other)
	})
	return nil
}

// known adds the references of the samples' series to those that are known. A series that cannot be
// made gets none.
func (s *spool) known(ctx context.Context, samples []sample, known map[string]core.Ref) error {
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
	if err := s.lookUp(ctx, paths, known); err != nil || len(specs) == 0 {
		return err
	}
	made, err := s.o.to.CreateBatch(ctx, specs)
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
func (s *spool) lookUp(ctx context.Context, paths []string, known map[string]core.Ref) error {
	refs := make([]core.Ref, len(paths))
	g, ctx := errgroup.WithContext(ctx) // a leader that is gone may take long for each
	g.SetLimit(lookups)
	for i, path := range paths {
		g.Go(func() error {
			err := ctx.Err()
			if err == nil {
				refs[i], err = s.o.to.Lookup(path)
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
