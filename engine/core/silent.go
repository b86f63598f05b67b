package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/rra"
)

// silentChunk is how many drops are in the queue of the log at a time.
const silentChunk = 256

// A Silent names a series to drop if it has had no sample after a time.
type Silent struct {
	Ref    Ref
	Before rra.Time
}

// DropSilent drops the series of list that have had no sample after the time Before, with their
// metadata, and returns how many it dropped. Samples that are logged and not yet applied count. A
// series that has replaced one of list stays.
func (s *Store) DropSilent(ctx context.Context, list []Silent) (n int, err error) {
	for len(list) > 0 && err == nil {
		k := min(len(list), silentChunk)
		var some int
		some, err = s.dropSilent(ctx, list[:k])
		n, list = n+some, list[k:]
	}
	return n, err
}

// newest returns Stats.Newest.
func (s *Store) newest() rra.Time {
	at := rra.Time(s.metadata.newest.Load())
	for _, sh := range s.appender.shards {
		at = max(at, rra.Time(sh.stats.newest.Load()))
	}
	return at
}

// A silentDrop is a drop in progress.
type silentDrop struct {
	Silent
	key    string
	ticket Ticket
	logged bool
	err    error // its outcome
}

// dropSilent drops a chunk. It knows that a series is silent only after everything logged for its
// group is applied. So it looks at series of busy groups again while nobody else logs.
func (s *Store) dropSilent(ctx context.Context, list []Silent) (n int, err error) {
	drops := make([]silentDrop, len(list))
	var busy []*silentDrop
	for i := range drops {
		d := &drops[i]
		d.Silent = list[i]
		wait, e := s.tryDrop(ctx, d, s.appender.lock)
		if e != nil {
			err = e
			break
		}
		if wait {
			busy = append(busy, d)
		}
	}
	if len(busy) > 0 && err == nil {
		err = s.dropBusy(ctx, busy)
	}
	for i := range drops {
		d := &drops[i]
		if !d.logged {
			continue
		}
		switch e := d.ticket.Wait(); {
		case e != nil:
			err = errors.Join(err, e)
		case d.err == nil:
			n++
		}
	}
	return n, err
}

// dropBusy drops series of busy groups, after the logged samples of these groups were applied.
func (s *Store) dropBusy(ctx context.Context, busy []*silentDrop) error {
	s.appender.pause()
	defer s.appender.resume()
	for _, d := range busy {
		if _, err := s.tryDrop(ctx, d, s.appender.lockPaused); err != nil {
			return err
		}
	}
	return nil
}

// tryDrop logs the drop of a series if it is silent. Nothing is logged between the look at the
// series and the drop. wait says that the series looks silent, but a logged record that is not yet
// applied may be for it. lock locks the appender's mu.
func (s *Store) tryDrop(ctx context.Context, d *silentDrop, lock func()) (wait bool, err error) {
	if err := s.enterLead(); err != nil {
		return false, err
	}
	defer s.leave()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	rec, err := s.catalogue.record(d.Ref)
	if err != nil {
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return false, err
	}
	d.key = nameKey(rec.path)
	s.appender.ready(&d.ticket)
	d.ticket.op = &op{rec: dropRecord(d.key, d.Ref), keys: []string{d.key}, apply: func(t *Ticket) { d.err = s.applyDrop(t, d.key, d.Ref) }}
	lock()
	silent, wait, err := s.silent(d)
	if silent && !wait && err == nil {
		err = s.appender.enqueue(&d.ticket, d.ticket.op.rec)
		d.logged = err == nil
	}
	s.appender.mu.Unlock()
	if err != nil {
		return false, fmt.Errorf("drop %q: %w", d.key, err)
	}
	return silent && wait, nil
}

// silent reports whether a series has had no sample after the time before, and whether a logged
// record that is not yet applied may change that. The caller holds the appender's mu.
func (s *Store) silent(d *silentDrop) (silent, wait bool, err error) {
	err = s.withSeries(d.Ref, func(g *group, index int) {
		at := g.lastUpdate(index)
		if h := g.held[index]; h != nil {
			at = max(at, h.Newest())
		}
		silent = at <= d.Before
		wait = g.inflight.Load() > 0 || s.appender.underway.any(d.key)
	})
	// a drop is on its way; or its last update is not known
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) {
		return false, false, nil
	}
	return silent, wait, err
}
