package prom

import (
	"context"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
)

// Listings are lists of names and values of labels that were asked for, sorted. They are kept until
// the catalogue changes: dashboards ask for the same ones again and again, and to find one takes a
// look at every value there is.
type listings struct {
	kept  map[string][]string
	bytes int64
	age   int // how often all were forgotten
	share *core.MemoryShare
}

// listedBytes is what the listings of a storage may take together.
const listedBytes = 32 << 20

// forget forgets all listings.
func (l *listings) forget() {
	l.age++
	if len(l.kept) > 0 {
		l.kept, l.bytes = nil, 0
		_ = l.share.Resize(0) // less memory is always there
	}
}

// keep keeps a listing that was begun at an age, if nothing has changed since and there is memory.
func (l *listings) keep(age int, key string, list []string) {
	if _, twice := l.kept[key]; twice || l.age != age {
		return
	}
	n := int64(len(key)) + 64
	for _, s := range list {
		n += int64(len(s)) + 16
	}
	if n > listedBytes {
		return
	}
	if l.bytes+n > listedBytes {
		l.forget()
	}
	if l.share.Resize(l.bytes+n) != nil {
		return
	}
	if l.kept == nil {
		l.kept = make(map[string][]string)
	}
	l.kept[key] = list
	l.bytes += n
}

// listed returns the list of what for ms, as hints limit it: one that is kept, or what list returns.
// Nobody may change it. Users who are limited to folders have lists of their own, which are not
// kept.
func (s *Storage) listed(ctx context.Context, what string, hints *storage.LabelHints, ms []*labels.Matcher, list func() ([]string, error)) ([]string, error) {
	t := &s.table
	key := what + listingKey(ms)
	kept := !access.From(ctx).Limited()
	var out []string
	age, has := 0, false
	if kept {
		t.mu.Lock()
		err := s.update(ctx, false)
		out, has = t.listings.kept[key]
		age = t.listings.age
		t.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	var err error
	if !has {
		out, err = list()
	}
	if kept && !has && err == nil {
		t.mu.Lock()
		t.listings.keep(age, key, out)
		t.mu.Unlock()
	}
	if hints != nil && hints.Limit > 0 && len(out) > hints.Limit {
		out = out[:hints.Limit]
	}
	return out, err
}

// listingKey returns matchers as text.
func listingKey(ms []*labels.Matcher) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteByte(0)
		b.WriteString(m.String())
	}
	return b.String()
}
