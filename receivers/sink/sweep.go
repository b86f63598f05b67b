package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const sweepChunk = 1000 // paths expired with one call of the store

// A Sweeper finds what has been silent for too long: paths whose metadata says after how many
// seconds they expire, and series whose rule does.
//
// A clock alone does not tell silence. It may have been set, and the process may have been stopped,
// or the machine, so that what was sent meanwhile still waits to be read. A path has been silent
// for a time d if three things say so: the clock, the newest sample that anybody has sent, and the
// sweeper itself, which must have seen the path unchanged for seven eighths of d while it looked
// again and again. Silence begins at the earliest when the Sweeper was made: nobody could send
// before.
type Sweeper struct {
	store *core.Store
	now   func() time.Time
	began time.Time

	look    uint64        // counts calls of Sweep
	looked  time.Time     // when the last one was
	watched time.Duration // how long the sweeper has watched; see Sweep
	silent  map[string]silence
}

// A silence is a path that was silent when the sweeper looked last.
type silence struct {
	last rra.Time      // of the last sample or text
	from time.Duration // of Sweeper.watched, when it was first seen with this last sample
	look uint64        // the last look that saw it
}

// watchedShare is the part of a silence, one over so much, that may pass before the sweeper begins
// to watch a path.
const watchedShare = 8

// Swept is what one sweep has done.
type Swept struct {
	Expired int // paths whose metadata was forgotten
	Dropped int // series dropped
}

// NewSweeper returns a Sweeper of s. A now of nil is time.Now.
func NewSweeper(s *core.Store, now func() time.Time) *Sweeper {
	if now == nil {
		now = time.Now
	}
	w := &Sweeper{store: s, now: now, began: now(), silent: make(map[string]silence)}
	w.looked = w.began
	return w
}

// Sweep looks at everything once. The rules of p go before what metadata says. The caller meant to
// wait for pause since the last call, or since NewSweeper: if it was more than twice as long, the
// process did not run, and the time does not count as watched.
func (w *Sweeper) Sweep(ctx context.Context, p *Policy, pause time.Duration) (Swept, error) {
	now := w.now()
	w.look++
	if gap := now.Sub(w.looked); gap > 0 && gap <= 2*pause {
		w.watched += gap
	}
	w.looked = now
	if newest := w.store.Newest().Std(); newest.Before(now) {
		now = newest
	}
	var done Swept
	err := w.metadata(ctx, p, now, &done)
	if err == nil && p.Expires() {
		err = w.series(ctx, p, now, &done)
	}
	if err == nil {
		for path, x := range w.silent {
			if x.look != w.look {
				delete(w.silent, path)
			}
		}
	}
	return done, err
}

// silentFor reports whether nothing has come for a path for d until now, if the last was at last.
func (w *Sweeper) silentFor(path string, last rra.Time, now time.Time, d time.Duration) bool {
	since := last.Std()
	if since.Before(w.began) {
		since = w.began
	}
	silent := now.Sub(since)
	if silent < d/watchedShare {
		return false
	}
	x, known := w.silent[path]
	if !known || x.last != last {
		x = silence{last: last, from: w.watched}
	}
	x.look = w.look
	w.silent[path] = x
	return silent >= d && w.watched-x.from >= d-d/watchedShare
}

// A droplist gathers series to be dropped together.
type droplist struct {
	w    *Sweeper
	done *Swept
	list []core.Silent
}

// add has a series dropped that nothing has come for since last.
func (l *droplist) add(ctx context.Context, ref core.Ref, last rra.Time) error {
	if l.list = append(l.list, core.Silent{Ref: ref, Before: last}); len(l.list) < sweepChunk {
		return nil
	}
	return l.flush(ctx)
}

func (l *droplist) flush(ctx context.Context) error {
	n, err := l.w.store.DropSilent(ctx, l.list)
	l.done.Dropped += n
	l.list = l.list[:0]
	return err
}

// metadata expires paths by their metadata, and texts by their rules. What a series has got since
// stays, as the series does, for the next look.
func (w *Sweeper) metadata(ctx context.Context, p *Policy, now time.Time, done *Swept) error {
	drop := droplist{w: w, done: done}
	var forget []core.PathMetadata
	flush := func() error {
		if err := w.store.ExpireMetadata(ctx, forget); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		done.Expired += len(forget)
		forget = forget[:0]
		return nil
	}
	for m, err := range w.store.ListMetadata(ctx, "", "") {
		if err != nil {
			return err
		}
		x, ok, err := w.expiry(p, &m)
		if err != nil {
			return err
		}
		if !ok || !w.silentFor(m.Path, x.last, now, x.after) {
			continue
		}
		if x.ref != 0 && slices.Contains(m.Attributes, core.Label{Name: receivers.AttributeOnExpiry, Value: receivers.ExpireDelete}) {
			if err := drop.add(ctx, x.ref, x.last); err != nil {
				return err
			}
			continue // with its metadata
		}
		if forget = append(forget, m); len(forget) == sweepChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := drop.flush(ctx); err != nil {
		return err
	}
	return flush()
}

// An expiry says after what silence a path expires.
type expiry struct {
	ref   core.Ref      // of its series; 0: it is none
	last  rra.Time      // of the last sample or text
	after time.Duration // more than 0
}

// expiry says after what silence a path expires by its metadata; not ok: it does not.
func (w *Sweeper) expiry(p *Policy, m *core.PathMetadata) (x expiry, ok bool, err error) {
	if m.Expired {
		return x, false, nil
	}
	x.after, x.last = time.Duration(m.Expire)*time.Second, m.Time
	id := receivers.Identity{Path: m.Path, Labels: m.Attributes}
	ref, err := w.store.Lookup(m.Path)
	switch {
	case err == nil:
		s, err := w.store.Series(ref)
		if errors.Is(err, core.ErrNotFound) {
			return x, false, nil // dropped meanwhile
		}
		if err != nil {
			return x, false, err
		}
		id.Labels = s.Labels
		if by := p.Expire(id); by != 0 {
			return x, false, nil // its rule's own business
		}
		at, err := w.store.Last(ref)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return x, false, err
		}
		x.ref, x.last = ref, max(x.last, at)
	case !errors.Is(err, core.ErrNotFound):
		return x, false, err
	default:
		if by := p.Expire(id); by != 0 {
			x.after = by
		}
	}
	return x, x.after > 0, nil
}

// series drops series by their rules.
func (w *Sweeper) series(ctx context.Context, p *Policy, now time.Time, done *Swept) error {
	drop := droplist{w: w, done: done}
	for s, err := range w.store.List(ctx, "", "") {
		if err != nil {
			return err
		}
		d := p.Expire(receivers.Identity{Path: s.Path, Labels: s.Labels})
		if d <= 0 {
			continue
		}
		last, err := w.store.Last(s.Ref)
		if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrDamaged) {
			continue // dropped meanwhile, or nobody can tell
		}
		if err != nil {
			return err
		}
		if !w.silentFor(s.Path, last, now, d) {
			continue
		}
		if err := drop.add(ctx, s.Ref, last); err != nil {
			return err
		}
	}
	return drop.flush(ctx)
}
