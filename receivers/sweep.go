package receivers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The attribute of metadata that says what becomes of a path that expires: with the value ExpireDelete its
// series is dropped; otherwise the rows stay, and only the metadata is forgotten.
const (
	AttributeOnExpiry = "on_expiry"
	ExpireDelete      = "delete"
)

const sweepChunk = 1000 // paths expired with one call of the store

// A Sweeper finds what has been silent for too long: paths whose metadata says after how many seconds
// they expire, and series whose rule does. Silence is told by the time of the last sample or text, and begins at the
// earliest when the Sweeper was made: nobody could send before.
type Sweeper struct {
	store *core.Store
	now   func() time.Time
	began time.Time
}

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
	return &Sweeper{store: s, now: now, began: now()}
}

// Sweep looks at everything once. The rules of p go before what metadata says.
func (w *Sweeper) Sweep(ctx context.Context, p *Policy) (Swept, error) {
	var done Swept
	err := w.metadata(ctx, p, &done)
	if err == nil && p.Expires() {
		err = w.series(ctx, p, &done)
	}
	return done, err
}

// silentSince says whether nothing has come for d before now, if the last was at last.
func (w *Sweeper) silentSince(last rra.Time, now time.Time, d time.Duration) bool {
	since := last.Std()
	if since.Before(w.began) {
		since = w.began
	}
	return now.Sub(since) >= d
}

// metadata expires paths by their metadata, and texts by their rules.
func (w *Sweeper) metadata(ctx context.Context, p *Policy, done *Swept) error {
	now := w.now()
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
		expire, ok, err := w.expiry(p, &m, now)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if slices.Contains(m.Attributes, core.Label{Name: AttributeOnExpiry, Value: ExpireDelete}) {
			n, err := w.store.DropSilent(ctx, []string{m.Path}, rra.TimeOf(now.Add(-expire)))
			if done.Dropped += n; err != nil {
				return err
			}
			if n > 0 {
				continue // with its metadata
			}
		}
		if forget = append(forget, m); len(forget) == sweepChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// expiry says whether a path has expired by its metadata, and after what silence.
func (w *Sweeper) expiry(p *Policy, m *core.PathMetadata, now time.Time) (time.Duration, bool, error) {
	if m.Expired {
		return 0, false, nil
	}
	expire := time.Duration(m.Expire) * time.Second
	last := m.Time
	id := Identity{Path: m.Path, Labels: m.Attributes}
	ref, err := w.store.Lookup(m.Path)
	switch {
	case err == nil:
		s, err := w.store.Series(ref)
		if errors.Is(err, core.ErrNotFound) {
			return 0, false, nil // dropped meanwhile
		}
		if err != nil {
			return 0, false, err
		}
		id.Labels = s.Labels
		if by := p.Expire(id); by != 0 {
			return 0, false, nil // its rule's own business
		}
		at, err := w.store.Last(ref)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return 0, false, err
		}
		last = max(last, at)
	case !errors.Is(err, core.ErrNotFound):
		return 0, false, err
	default:
		if by := p.Expire(id); by != 0 {
			expire = by
		}
	}
	return expire, expire > 0 && w.silentSince(last, now, expire), nil
}

// series drops series by their rules.
func (w *Sweeper) series(ctx context.Context, p *Policy, done *Swept) error {
	silent := make(map[time.Duration][]string) // paths by what their rule says
	drop := func(d time.Duration) error {
		n, err := w.store.DropSilent(ctx, silent[d], rra.TimeOf(w.now().Add(-d)))
		done.Dropped += n
		delete(silent, d)
		return err
	}
	for s, err := range w.store.List(ctx, "", "") {
		if err != nil {
			return err
		}
		d := p.Expire(Identity{Path: s.Path, Labels: s.Labels})
		if d <= 0 {
			continue
		}
		last, err := w.store.Last(s.Ref)
		if errors.Is(err, core.ErrNotFound) {
			continue // dropped meanwhile
		}
		if err != nil {
			return err
		}
		if !w.silentSince(last, w.now(), d) {
			continue
		}
		if silent[d] = append(silent[d], s.Path); len(silent[d]) == sweepChunk {
			if err := drop(d); err != nil {
				return err
			}
		}
	}
	for d := range silent {
		if err := drop(d); err != nil {
			return err
		}
	}
	return nil
}
