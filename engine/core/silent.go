package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/rra"
)

// silentChunk is how many drops are on their way to the log at a time.
const silentChunk = 256

// A Silent is a series that is dropped if it has had no sample after a time.
type Silent struct {
	Ref    Ref
	Before rra.Time
}

// DropSilent drops those series of list that have had no sample after the time Before, samples on
// their way included, with their metadata, and returns how many. A series that has taken the place
// of one of list stays.
func (s *Store) DropSilent(ctx context.Context, list []Silent) (n int, err error) {
	for len(list) > 0 && err == nil {
		k := min(len(list), silentChunk)
		var some int
		some, err = s.dropSilent(ctx, list[:k])
		n, list = n+some, list[k:]
	}
	return n, err
}

// Newest returns the time of the newest sample or text that has come since the store was opened, of
// whatever path, refused samples included; 0: there was none.
func (s *Store) Newest() rra.Time {
	at := rra.Time(s.metadata.newest.Load())
	for _, sh := range s.appender.shards {
		sh.mu.Lock()
		at = max(at, sh.newest)
		sh.mu.Unlock()
	}
	return at
}

// A silentDrop is a drop on its way.
type silentDrop struct {
	Silent
	key    string
	ticket Ticket
	logged bool
	err    error // its outcome
}

// dropSilent drops a chunk. Whether a series is silent shows only once what is on its way for its
// group has been applied. Series of busy groups are therefore looked at again while nobody else
// logs.
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

// dropBusy drops series of groups that samples are on their way for, once these have been applied.
func (s *Store) dropBusy(ctx context.Context, busy []*silentDrop) error {
	s.appender.pause()
	defer s.appender.resume()
	for _, d := range busy {
		s.appender.awaitGroup(d.Ref)
		s.appender.underway.await(d.key)
		if _, err := s.tryDrop(ctx, d, s.appender.lockPaused); err != nil {
			return err
		}
	}
	return nil
}

// tryDrop logs the drop of a series that is silent. Nothing can come between the look at it and its
// place in the log. wait says that it is, as far as can be told, but something is on its way that
// may be for it. lock takes the appender's mu.
func (s *Store) tryDrop(ctx context.Context, d *silentDrop, lock func()) (wait bool, err error) {
	if err := s.enterWrite(); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		s.leave()
		return false, err
	}
	rec, err := s.catalogue.record(d.Ref)
	if err != nil {
		s.leave()
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
	if !d.logged {
		s.leave()
	}
	if err != nil {
		return false, fmt.Errorf("drop %q: %w", d.key, err)
	}
	return silent && wait, nil
}

// silent reports whether a series has had no sample after the time before, and whether something is
// on its way that may change it. The caller holds the appender's mu.
func (s *Store) silent(d *silentDrop) (silent, wait bool, err error) {
	err = s.withSeries(d.Ref, func(g *group, index int) {
		at := g.lastUpdate(index)
		if h := g.held[index]; h != nil {
			at = max(at, h.Newest())
		}
		silent = at <= d.Before
		wait = g.inflight.Load() > 0 || s.appender.underway.any(d.key)
	})
	// a drop is on its way; or its last update cannot be told
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) {
		return false, false, nil
	}
	return silent, wait, err
}
