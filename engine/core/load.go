package core

import (
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A loader brings the state of groups into memory when somebody needs it, and names the damage that
// is met in what the database holds of a group.
type loader struct {
	s *Store

	deferred atomic.Int64          // groups that have yet to apply deferred runs
	failure  atomic.Pointer[error] // the first error of a replay
}

// failed keeps the first error of a replay, which ends it.
func (l *loader) failed(err error) { l.failure.CompareAndSwap(nil, &err) }

// lockGroup locks g with its state in memory. After an error g is not locked.
//
// A transaction that loading needs begins before the lock is taken. bbolt may make a new
// transaction wait until it has grown its mapping, which in turn waits for readers, and a reader
// may wait for the lock of g.
func (l *loader) lockGroup(g *group) error {
	g.mu.Lock()
	if g.loaded {
		return nil
	}
	g.mu.Unlock()
	for {
		tx, err := l.s.db.Begin()
		if err != nil {
			return err
		}
		g.mu.Lock()
		stale := g.dirTx > tx.ID()
		if !stale {
			err = l.loadGroup(g, &tx)
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

// lockGroup locks a group that a record is about to change, as the loader does.
func (sh *shard) lockGroup(l *loader, g *group) error {
	err := l.lockGroup(g)
	if err == nil && sh.before != nil {
		sh.before(g)
	}
	return err
}

// loadGroup makes sure that the arrays of g hold its state. The caller holds g.mu, and tx is not
// older than the last transaction that wrote g. The error is a *DamageError if the state record is
// damaged.
func (l *loader) loadGroup(g *group, tx *boltfile.Tx) error {
	if g.loaded || g.deferredErr != nil {
		return g.deferredErr
	}
	err := l.s.db.Guard(bucketState, func() error {
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
		return l.damagedState(g, err)
	}
	g.countHeld()
	if len(g.deferred) > 0 {
		if g.deferredErr = l.applyDeferred(g, g.deferred); g.deferredErr != nil {
			return g.deferredErr
		}
		g.deferred = nil
		l.deferred.Add(-1)
	}
	g.loaded = true
	l.s.space.loaded.Add(1)
	return nil
}

// applyDeferred applies runs to g in the goroutine of the caller, which holds g.mu.
func (l *loader) applyDeferred(g *group, runs []deferredRun) error {
	owner := l.s.appender.shards[g.shard]
	sh := &shard{id: owner.id}
	for i := range runs {
		sh.reorder = runs[i].window
		if err := sh.applyBody(owner, g, runs[i].pos, runs[i].number, runs[i].h); err != nil {
			return err
		}
	}
	return nil
}
