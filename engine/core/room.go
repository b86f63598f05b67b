package core

import (
	"context"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// What a new series takes of the memory is set aside before its record is logged: what is logged must be applied, however
// much it takes. Creations that wait at the same time see what the others have set aside, so that together they keep within
// the budget. Large series leave a part of it free: readings of the others must not wait for their checkpoint.

const (
	// largeSeries is the size of a state from which on a series is a group of its own, loaded and given back by itself.
	largeSeries = 64 << 10
	// largeShare is the part of the budget, in quarters, that large series and whole copies may fill.
	largeShare = 3
)

// A room is memory set aside, to be given back with release.
type room struct {
	s *Store
	n int64
}

// takeRoom sets n bytes aside for one thing that is as large or for several smaller ones of size each. It waits for
// checkpoints as admit does. An error is ErrMemory, that of the last checkpoint, or ctx's.
func (s *Store) takeRoom(ctx context.Context, n, each int64) (*room, error) {
	budget := s.options.Memory
	if each > largeSeries {
		budget = max(budget-s.catalogue.defBytes.Load(), 0) / 4 * largeShare
	}
	for tries := 0; !s.space.Reserve(n, budget); tries++ {
		if failure := s.checkpointFailure.Load(); failure != nil {
			s.wake()
			return nil, fmt.Errorf("no room until a checkpoint succeeds: %w", *failure)
		}
		if s.options.NoBackground || n > budget || tries > 2 {
			return nil, fmt.Errorf("%w: %d bytes are needed, and of the %d there are for this %d are free",
				ErrMemory, n, budget, s.space.Left(budget))
		}
		s.reliefMu.Lock()
		relief := s.relief
		s.reliefMu.Unlock()
		s.wake()
		select {
		case <-relief:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &room{s, n}, nil
}

// grow sets n more bytes aside, without waiting.
func (r *room) grow(n int64) error {
	budget := r.s.options.Memory / 4 * largeShare
	if !r.s.space.Reserve(n, budget) {
		return fmt.Errorf("%w: more than %d bytes are needed, and of the %d there are for this %d were free",
			ErrMemory, r.n+n, budget, r.s.space.Left(budget))
	}
	r.n += n
	return nil
}

// release gives back what was set aside, once the memory itself is counted or will not be needed.
func (r *room) release() {
	if r == nil {
		return // a record that is replayed has none
	}
	r.s.space.Unreserve(r.n)
	r.n = 0
}

// seriesBytes is what one series of c takes while it is loaded.
func (c *class) seriesBytes() int64 {
	return int64(memory.Size(c.groupBytes(1)) + memory.Size(9*c.sources))
}

// classOf returns the class of the shape of m, or what it will be.
func (s *Store) classOf(m *rra.Machine) *class {
	s.catalogue.mu.RLock()
	c := s.catalogue.byShape[m.Shape()]
	s.catalogue.mu.RUnlock()
	if c == nil {
		c = newClass(0, m, nil, nil)
	}
	return c
}

// roomFor sets the memory of planned series aside.
func (s *Store) roomFor(ctx context.Context, plan []planned) (*room, error) {
	var total, largest, each int64
	var last *rra.Machine
	known := make(map[string]bool)
	for i := range plan {
		p := &plan[i]
		if p.m != last {
			last, each = p.m, s.classOf(p.m).seriesBytes()
			if !known[p.def] && !s.interned(p.def) {
				known[p.def] = true
				if err := s.checkDefinitions(p); err != nil {
					return nil, err
				}
				total += definitionBytes(p.m, len(p.def))
			}
		}
		total += each
		largest = max(largest, each)
	}
	return s.takeRoom(ctx, total, largest)
}

// roomForImport sets the memory of a copy and of its record aside.
func (s *Store) roomForImport(ctx context.Context, x *importing, rec []byte) (*room, error) {
	n := s.classOf(x.m).seriesBytes() + int64(len(rec)) + pendChunk
	for i := range x.segments {
		n += int64(len(x.segments[i].data)) + pendLong
	}
	if !s.interned(x.def) {
		if err := s.checkDefinitions(&x.planned); err != nil {
			return nil, err
		}
		n += definitionBytes(x.m, len(x.def))
	}
	return s.takeRoom(ctx, n, n)
}

// Definitions stay in memory as long as the store is open, used or not.

// definitionBytes is about what a definition takes, with its class.
func definitionBytes(m *rra.Machine, code int) int64 {
	d := m.Definition()
	return 2048 + int64(code) + 200*int64(len(d.Sources)) + 400*int64(len(d.Archives)) + 16*int64(len(d.Sources)*len(m.Streams()))
}

func (s *Store) interned(code string) bool {
	s.catalogue.mu.RLock()
	defer s.catalogue.mu.RUnlock()
	return s.catalogue.byDef[code] != nil
}

// checkDefinitions refuses one more definition when they take half of the budget.
func (s *Store) checkDefinitions(p *planned) error {
	if have, n := s.catalogue.defBytes.Load(), definitionBytes(p.m, len(p.def)); have+n > s.options.Memory/2 {
		return fmt.Errorf("%w: the definitions of all series take %d bytes and one more %d, half of the budget is %d",
			ErrMemory, have, n, s.options.Memory/2)
	}
	return nil
}

// batchBytes bounds what a checkpoint gathers for one transaction, with regard to the budget.
func (s *Store) batchBytes() int { return int(min(txMost, max(s.options.Memory/16, 1<<20))) }

// checkRecord refuses a record that the log cannot hold.
func checkRecord(rec []byte) error {
	if n := len(rec); n > wal.MaxRecord {
		return invalid("a record of %d bytes, at most %d are possible", n, wal.MaxRecord)
	}
	return nil
}
