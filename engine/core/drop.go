package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// dropChunk is how many drops are in the queue of the log at a time.
const dropChunk = 256

// A Dropping names a series to drop: one of a path, or one that has had no sample after a time.
type Dropping struct {
	Path   string
	Ref    Ref // not 0: this series, whatever its path is, if it is silent since Before
	Before rra.Time
}

var errNotTried = errors.New("not dropped, because the call failed before")

// Drop drops series with their metadata, and the metadata of a path that is no series. A series
// that is named by its reference is dropped if it has had no sample after the time Before. Samples
// that are logged and not yet applied count, and a series that has replaced it stays. out[i] is nil
// if list[i] was dropped, or says why it was not: it wraps ErrNotFound if there is no such series.
func (s *Store) Drop(ctx context.Context, list []Dropping) (out []error, err error) {
	out = make([]error, len(list))
	for i := range out {
		out[i] = errNotTried
	}
	for from := 0; from < len(list) && err == nil; from += dropChunk {
		to := min(from+dropChunk, len(list))
		err = s.dropSome(ctx, NumberOf(ctx).Plus(from), list[from:to], out[from:to])
	}
	return out, err
}

// newest returns Stats.Newest.
func (s *Store) newest() rra.Time {
	at := rra.Time(s.metadata.newest.Load())
	for _, sh := range s.appender.shards {
		at = max(at, rra.Time(sh.stats.newest.Load()))
	}
	return at
}

// A drop is a drop in progress.
type drop struct {
	Dropping
	key    string
	number Number
	ticket Ticket
	logged bool
	err    *error // its outcome
}

// dropSome drops a chunk. It knows that a series is silent only after everything logged for its
// group is applied. So it looks at series of busy groups again while nobody else logs.
func (s *Store) dropSome(ctx context.Context, n Number, list []Dropping, out []error) (err error) {
	drops := make([]drop, len(list))
	var busy []*drop
	for i := range drops {
		d := &drops[i]
		d.Dropping, d.err, d.number = list[i], &out[i], n.Plus(i)
		wait, again := false, false
		if again, err = s.beforeOne(ctx, d.number); again {
			*d.err, err = err, nil
			continue
		}
		if err == nil && d.Ref == 0 {
			err = s.dropPath(ctx, d)
		} else if err == nil {
			wait, err = s.dropSilent(ctx, d, s.appender.lock)
		}
		if err != nil {
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
		if !drops[i].logged {
			continue
		}
		if e := drops[i].ticket.Wait(); e != nil {
			out[i] = e
			err = errors.Join(err, e)
		}
	}
	return err
}

// ready makes the record of a drop. If only is not 0, it drops nothing but the series only.
func (d *drop) ready(s *Store, only Ref) {
	s.appender.ready(&d.ticket)
	d.ticket.number = d.number
	rec := binary.AppendUvarint(record.AppendText([]byte{record.KindDrop}, d.key), uint64(only))
	d.ticket.op = &op{rec: rec, keys: []string{d.key}, apply: func(t *Ticket) {
		*d.err = s.applyDrop(t, d.key, only)
		s.refused(t, 0, *d.err)
	}}
}

// dropPath logs the drop of a path.
func (s *Store) dropPath(ctx context.Context, d *drop) error {
	var err error
	if d.key, _, err = CleanPath(d.Path); err != nil {
		*d.err = err
		return nil
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.leave()
	if _, err := s.catalogue.lookup(d.key); errors.Is(err, ErrDamaged) {
		*d.err = fmt.Errorf("drop %q: %w", d.key, err)
		return nil
	}
	d.ready(s, 0)
	err = s.appender.submitOp(&d.ticket, s.appender.lock)
	d.logged = err == nil
	return err
}

// dropBusy drops series of busy groups, after the logged samples of these groups were applied.
func (s *Store) dropBusy(ctx context.Context, busy []*drop) error {
	s.appender.pause()
	defer s.appender.resume()
	for _, d := range busy {
		if _, err := s.dropSilent(ctx, d, s.appender.lockPaused); err != nil {
			return err
		}
	}
	return nil
}

// dropSilent logs the drop of a series if it is silent. Nothing is logged between the look at the
// series and the drop. wait says that the series looks silent, but a logged record that is not yet
// applied may be for it. lock locks the appender's mu.
func (s *Store) dropSilent(ctx context.Context, d *drop, lock func()) (wait bool, err error) {
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
			*d.err, err = err, nil
		}
		return false, err
	}
	d.key = nameKey(rec.path)
	d.ready(s, d.Ref)
	lock()
	silent, wait, err := s.silent(d)
	if silent && !wait && err == nil {
		err = s.appender.enqueueOp(&d.ticket)
		d.logged = err == nil
	}
	s.appender.mu.Unlock()
	if err != nil {
		return false, fmt.Errorf("drop %q: %w", d.key, err)
	}
	if !silent {
		*d.err = fmt.Errorf("drop %q: it has had a sample meanwhile", d.key)
	}
	return silent && wait, nil
}

// silent reports whether a series has had no sample after the time before, and whether a logged
// record that is not yet applied may change that. The caller holds the appender's mu.
func (s *Store) silent(d *drop) (silent, wait bool, err error) {
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
