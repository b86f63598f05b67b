package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// sweepChunk is how many paths one call of the store expires or drops.
const sweepChunk = 1000

// A Sweeper expires paths that have been silent for longer than their metadata allows, and drops
// series that have been silent for longer than their rule allows.
//
// The clock alone does not show that a path is silent. It may have been set, or the process or the
// machine may have been stopped, so that samples sent meanwhile are still unread. A path has been
// silent for a time d if all of these hold:
//   - By the clock, the last sample or text of the path is older than d.
//   - The newest sample of any sender is later than that last one by d.
//   - The sweeper has seen the path unchanged for seven eighths of d, looking again and again.
//
// Silence does not begin before the Sweeper was made, because nobody could send before. So a clock
// that jumps drops nothing that still sends. One that is set back puts off what has a last sample
// in the future until then.
type Sweeper struct {
	store core.Engine
	now   func() time.Time
	began time.Time

	look    uint64             // number of calls of Sweep
	looked  time.Time          // when Sweep was called last
	watched time.Duration      // how long the sweeper has watched; see Sweep
	silent  map[string]silence // by path
}

// A silence is what the sweeper remembers of a path that was silent when it looked last.
type silence struct {
	last rra.Time      // time of the last sample or text
	from time.Duration // Sweeper.watched when the path was first seen with this last sample
	look uint64        // the last look that saw the path silent
}

// watchedShare: d/watchedShare of a silence d may pass before the sweeper begins to watch a path.
const watchedShare = 8

// Swept counts what one sweep has done.
type Swept struct {
	Expired int // paths whose metadata was forgotten
	Dropped int // series dropped
}

// NewSweeper returns a Sweeper of s. A now of nil is time.Now.
func NewSweeper(s core.Engine, now func() time.Time) *Sweeper {
	if now == nil {
		now = time.Now
	}
	w := &Sweeper{store: s, now: now, looked: now(), silent: make(map[string]silence)}
	w.began = w.looked.Round(0)
	return w
}

// Sweep looks at every path and series once. A rule of p overrides what metadata says.
//
// pause is how long the caller meant to wait since the last call, or since NewSweeper. If more than
// twice as much time has passed, the process was stopped meanwhile, and the time does not count as
// watched.
func (w *Sweeper) Sweep(ctx context.Context, p *Policy, pause time.Duration) (Swept, error) {
	now := w.now()
	// A clock that was wrong at the start may be right by now: silence began no later than now.
	if wall := now.Round(0); wall.Before(w.began) {
		w.began = wall
	}
	w.look++
	if gap := now.Sub(w.looked); gap > 0 && gap <= 2*pause {
		w.watched += gap
	}
	w.looked = now
	if newest := w.store.Stats().Newest.Std(); newest.Before(now) {
		now = newest
	}
	var done Swept
	err := w.metadata(ctx, p, now, &done)
	if p.Expires() {
		err = cmp.Or(w.series(ctx, p, now, &done), err)
	}
	if err == nil || errors.Is(err, core.ErrDamaged) {
		for path, x := range w.silent {
			if x.look != w.look {
				delete(w.silent, path)
			}
		}
	}
	return done, err
}

// silentFor reports whether a path whose last sample or text is of the time last has been silent
// for d at now.
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

// A droplist collects series to be dropped, and drops many with one call of the store.
type droplist struct {
	w    *Sweeper
	done *Swept
	list []core.Dropping
}

// add drops a series, now or with a later flush, unless a sample after last has come.
func (l *droplist) add(ctx context.Context, ref core.Ref, last rra.Time) error {
	if l.list = append(l.list, core.Dropping{Ref: ref, Before: last}); len(l.list) < sweepChunk {
		return nil
	}
	return l.flush(ctx)
}

func (l *droplist) flush(ctx context.Context) error {
	out, err := l.w.store.Drop(ctx, l.list)
	for _, kept := range out {
		if kept == nil {
			l.done.Dropped++
		}
	}
	l.list = l.list[:0]
	return err
}

// metadata expires paths by what their metadata says, and paths that are no series by their rules.
// A series that has got a sample since stays, as does what is damaged: the next sweep looks again.
func (w *Sweeper) metadata(ctx context.Context, p *Policy, now time.Time, done *Swept) (failed error) {
	drop := droplist{w: w, done: done}
	var forget []core.PathMetadata
	flush := func() error {
		out, err := w.store.SetMetadata(ctx, forget)
		if err == nil {
			err = errors.Join(out...)
		}
		if err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		done.Expired += len(forget)
		forget = forget[:0]
		return nil
	}
	for m, err := range w.store.ListMetadata(ctx, core.MetadataQuery{}) {
		if failed = err; err != nil {
			break
		}
		x, ok, err := w.expiry(p, &m)
		if err != nil && !errors.Is(err, core.ErrDamaged) {
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
		m.Expires = true
		if forget = append(forget, m); len(forget) == sweepChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return cmp.Or(drop.flush(ctx), flush(), failed)
}

// An expiry is after how much silence a path expires.
type expiry struct {
	ref   core.Ref      // of its series; 0: the path is no series
	last  rra.Time      // time of the last sample or text
	after time.Duration // more than 0
}

// expiry returns after how much silence a path with metadata expires; ok is false if it does not.
func (w *Sweeper) expiry(p *Policy, m *core.PathMetadata) (x expiry, ok bool, err error) {
	if m.Expired {
		return x, false, nil
	}
	x.after, x.last = time.Duration(m.Expire)*time.Second, m.Time
	id := receivers.Identity{Path: m.Path, Labels: m.Attributes}
	ref, err := w.store.Lookup(m.Path)
	switch {
	case err == nil:
		s, err := core.SeriesOf(context.Background(), w.store, ref)
		if errors.Is(err, core.ErrNotFound) {
			return x, false, nil // dropped meanwhile
		}
		if err != nil {
			return x, false, err
		}
		id.Labels = s.Labels
		if by := p.Expire(id); by != 0 {
			return x, false, nil // Sweeper.series applies the rule
		}
		at, err := core.Last(context.Background(), w.store, ref)
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

// series drops series that have been silent for longer than their rules allow.
func (w *Sweeper) series(ctx context.Context, p *Policy, now time.Time, done *Swept) (failed error) {
	drop := droplist{w: w, done: done}
	for s, err := range w.store.Select(ctx, core.Query{Order: core.ByPath}) {
		if failed = err; err != nil {
			break
		}
		d := p.Expire(receivers.Identity{Path: s.Path, Labels: s.Labels})
		if d <= 0 {
			continue
		}
		last, err := core.Last(ctx, w.store, s.Ref)
		if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrDamaged) {
			continue // dropped meanwhile, or damaged
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
	return cmp.Or(drop.flush(ctx), failed)
}
