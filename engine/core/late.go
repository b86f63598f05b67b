package core

import (
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A store that is opened for one command needs the state of one group, or of none. There, replay leaves the runs of samples with
// their groups as they are coded, and a group applies its own when it is loaded: what a command costs does not depend on how many
// groups the log speaks of. Changes of the catalogue are replayed at once, in order, and load the groups that they change.

// lateBytes is how much of the log may wait for its groups. What is longer is replayed by all shards at once.
const lateBytes = 2 << 20

// lateChunk is how much of what waits shares one piece of memory.
const lateChunk = 64 << 10

// A lateRun is a run of samples that a group has yet to apply.
type lateRun struct {
	pos    wal.Pos
	h      runHeader
	window rra.Time // of reordering, then in force
}

// putOff leaves the runs of a record with their groups.
func (r *replayer) putOff(p wal.Pos, rec []byte) error {
	if cap(r.kept)-len(r.kept) < len(rec) {
		r.kept = make([]byte, 0, max(lateChunk, len(rec)))
	}
	n := len(r.kept)
	r.kept = append(r.kept, rec...)
	r.late += len(rec)
	in := reader{b: r.kept[n:]}
	in.byte()
	var at rra.Time
	for len(in.b) > 0 && in.err == nil {
		h := in.run(at)
		at = h.at
		if in.err != nil {
			break
		}
		g, err := r.s.groupAt(h.class, h.group)
		if err != nil {
			return fmt.Errorf("log position %d: %w", p, err)
		}
		if err := r.s.applyLater(g, lateRun{p, h, r.s.shards[g.shard].reorder}); err != nil {
			return err
		}
	}
	if in.err != nil {
		return recordError("samples", uint64(p))
	}
	return nil
}

// applyLater leaves a run with its group, unless that is loaded.
func (s *Store) applyLater(g *group, l lateRun) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.loaded {
		return s.applyHere(g, []lateRun{l})
	}
	if len(g.late) == 0 {
		s.lateGroups.Add(1)
	}
	g.late = append(g.late, l)
	return nil
}

// applyHere applies runs to g in whatever goroutine has locked it.
func (s *Store) applyHere(g *group, runs []lateRun) error {
	owner := s.shards[g.shard]
	sh := &shard{id: owner.id}
	for i := range runs {
		sh.reorder = runs[i].window
		if err := s.applyBody(sh, owner, g, runs[i].pos, runs[i].h); err != nil {
			return err
		}
	}
	return nil
}

// catchUp has every group apply what waits for it.
func (s *Store) catchUp() error {
	if s.lateGroups.Load() == 0 {
		return nil
	}
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			g.mu.Lock()
			waits := len(g.late) > 0
			g.mu.Unlock()
			if !waits {
				continue
			}
			if err := s.lockGroup(g); errors.Is(err, ErrDamaged) {
				continue
			} else if err != nil {
				return err
			}
			g.mu.Unlock()
		}
	}
	return nil
}
