package core

import (
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
)

import ()

// lockGroup locks g with its state in memory. After an error g is not locked.
//
// A transaction that loading needs begins before the lock is taken. bbolt may make a new
// transaction wait until it has grown its mapping, which in turn waits for readers, and a reader
// may wait for the lock of g.
func (s *Store) lockGroup(g *group) error {
	g.mu.Lock()
	if g.loaded {
		return nil
	}
	g.mu.Unlock()
	for {
		tx, err := s.db.Begin()
		if err != nil {
			return err
		}
		g.mu.Lock()
		stale := g.dirTx > tx.ID()
		if !stale {
			err = s.loadGroup(g, &tx)
		}
		tx.End()
		if !stale && err == nil {
			return nil
		}
		g.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// loadGroup makes sure that the arrays of g hold its state. The caller holds g.mu, and tx is not
// older than the last transaction that wrote g. The error is a *DamageError if the state record is
// damaged.
func (s *Store) loadGroup(g *group, tx *boltfile.Tx) error {
	if g.loaded || g.deferredErr != nil {
		return g.deferredErr
	}
	err := s.db.Guard(bucketState, func() error {
		v := tx.Bucket(bucketState).Get(g.stateKey())
		if v == nil && g.stored {
			return damage.ErrMissing
		}
		if v == nil {
			return nil
		}
		g.stored = true
		return g.decodeState(v)
	})
	if err != nil {
		g.unload()
		return s.damagedState(g, err)
	}
	g.countHeld()
	if len(g.deferred) > 0 {
		if g.deferredErr = s.applyDeferred(g, g.deferred); g.deferredErr != nil {
			return g.deferredErr
		}
		g.deferred = nil
		s.deferredGroups.Add(-1)
	}
	g.loaded = true
	s.space.loaded.Add(1)
	return nil
}

// applyDeferred applies runs to g in the goroutine of the caller, which holds g.mu.
func (s *Store) applyDeferred(g *group, runs []deferredRun) error {
	owner := s.shards[g.shard]
	sh := &shard{id: owner.id}
	for i := range runs {
		sh.reorder = runs[i].window
		if err := sh.applyBody(owner, g, runs[i].pos, runs[i].h); err != nil {
			return err
		}
	}
	return nil
}
