package shared

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/query/dashboards"
)

const (
	keyTexts = "dashboards.text."

	// saveTime bounds how long a page is being saved or dropped.
	saveTime = 10 * time.Second
	// againFirst and againLast bound the pause before another attempt if another node was faster.
	againFirst, againLast = 5 * time.Millisecond, 200 * time.Millisecond
)

// ErrTaken says that the cluster has a dashboard of that name, with another text.
var ErrTaken = errors.New("the cluster has another dashboard of that name")

// errText says that a text is not the one that the list names.
var errText = errors.New("its text in the bucket of the cluster is not the one that was saved")

// A Bucket is the dashboards as the bucket of a cluster has them. Its methods may be called
// concurrently. Their errors wrap core.ErrUnavailable if the servers do not answer.
type Bucket struct{ Store coord.Store }

// textKey returns where a text of a page is.
func textKey(name, digest string) string { return keyTexts + digestOf(name+" "+digest) }

// Save saves the text of a page in place of the one that has the name, whatever the text is. If the
// error wraps core.ErrUnavailable, the page may have been saved. Otherwise it was not: the error
// wraps dashboards.ErrName or dashboards.ErrFull, or is a *dashboards.ParseError if the text is
// longer than the servers take.
func (b Bucket) Save(ctx context.Context, name, text string) error {
	return b.save(ctx, name, text, false)
}

// Offer saves a page unless the cluster has one of that name. The error wraps ErrTaken if it has
// one with another text; otherwise it is as of Save.
func (b Bucket) Offer(ctx context.Context, name, text string) error {
	return b.save(ctx, name, text, true)
}

func (b Bucket) save(ctx context.Context, name, text string, offer bool) error {
	if err := dashboards.CheckName(name); err != nil {
		return err
	}
	return b.change(ctx, name, func(ctx context.Context, l *list) (*entry, error) {
		old, there := l.Pages[name]
		switch {
		case there && offer && old.Digest == digestOf(text):
			return &old, nil
		case there && offer:
			return nil, ErrTaken
		}
		return b.put(ctx, l, name, text)
	})
}

// Drop removes a page. The error wraps dashboards.ErrNotFound or dashboards.ErrName, or
// core.ErrUnavailable: then the page may have been removed.
func (b Bucket) Drop(ctx context.Context, name string) error {
	if err := dashboards.CheckName(name); err != nil {
		return err
	}
	return b.change(ctx, name, func(_ context.Context, l *list) (*entry, error) {
		if _, there := l.Pages[name]; !there {
			return nil, dashboards.ErrNotFound
		}
		return nil, nil
	})
}

// change writes a list in which become has set the entry of a page; nil removes the page. If
// somebody else has changed the list meanwhile, change begins again.
func (b Bucket) change(ctx context.Context, name string, become func(context.Context, *list) (*entry, error)) error {
	ctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	for pause := againFirst; ; pause = min(2*pause, againLast) {
		err := b.changeOnce(ctx, name, become)
		if !errors.Is(err, coord.ErrConflict) {
			return err
		}
		if sleep.For(ctx, pause) != nil {
			return fmt.Errorf("others save dashboards at the same time: %w", core.ErrUnavailable)
		}
	}
}

func (b Bucket) changeOnce(ctx context.Context, name string, become func(context.Context, *list) (*entry, error)) error {
	l, err := b.read(ctx)
	if err != nil {
		return err
	}
	old, there := l.Pages[name]
	now, err := become(ctx, l)
	if err != nil || there && now != nil && *now == old {
		return err
	}
	delete(l.Pages, name)
	if now != nil {
		l.Pages[name] = *now
	}
	if err := b.write(ctx, l); err != nil {
		return err
	}
	if there {
		// A text that stays does no harm.
		_ = b.Store.Delete(ctx, textKey(name, old.Digest), old.Revision)
	}
	return nil
}

// put writes a text of a page. The error wraps dashboards.ErrFull if the list has room for no more
// pages, and coord.ErrConflict if somebody else writes the same text.
func (b Bucket) put(ctx context.Context, l *list, name, text string) (*entry, error) {
	if _, there := l.Pages[name]; !there && len(l.Pages) >= dashboards.MaxPages {
		return nil, dashboards.ErrFull
	}
	digest := digestOf(text)
	key := textKey(name, digest)
	was, err := b.Store.Get(ctx, key)
	if err != nil {
		return nil, unavailable(err)
	}
	// Also a text that is there gets a new revision: somebody may be about to remove the former.
	revision, err := b.Store.CompareAndSet(ctx, key, []byte(text), was.Revision)
	if errors.Is(err, coord.ErrTooLong) {
		return nil, &dashboards.ParseError{Err: fmt.Errorf("a page of %d bytes: %w", len(text), err)}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return &entry{Revision: revision, Digest: digest}, nil
}

// text returns the text of a page of the list.
func (b Bucket) text(ctx context.Context, name string, e entry) (string, error) {
	v, err := b.Store.Get(ctx, textKey(name, e.Digest))
	if err != nil {
		return "", unavailable(err)
	}
	if text := string(v.Value); digestOf(text) == e.Digest {
		return text, dashboards.CheckText(text)
	}
	return "", errText
}

// Each calls fn with each page, in the order of names. If a text cannot be read, err says why. Each
// returns the first error of fn.
func (b Bucket) Each(ctx context.Context, fn func(name, text string, err error) error) error {
	l, err := b.read(ctx)
	if err != nil {
		return err
	}
	for _, name := range l.names() {
		text, err := b.text(ctx, name, l.Pages[name])
		if errors.Is(err, errText) { // it may have been saved again meanwhile
			var now *list
			if now, err = b.read(ctx); err == nil {
				e, there := now.Pages[name]
				if !there {
					continue
				}
				text, err = b.text(ctx, name, e)
			}
		}
		if err := fn(name, text, err); err != nil {
			return err
		}
	}
	return nil
}

// unavailable says of an error of the servers that another attempt may succeed. A conflict stays
// what it is.
func unavailable(err error) error {
	if errors.Is(err, coord.ErrConflict) {
		return err
	}
	return fmt.Errorf("the servers of the cluster: %w: %w", core.ErrUnavailable, err)
}
