package rpc

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
)

// choose finds the series of the request. Those that t has already go on where they are.
func (t *tail) choose(ctx context.Context) error {
	if t.watch != nil {
		t.watch.End()
	}
	const most = 64 // changes between two rounds that are counted singly
	t.watch = t.server.Store.Watch(most)
	t.chosen = time.Now()
	found := make(map[core.Ref]*tailed)
	for _, x := range t.series {
		t.sentTo[x.path] = x.next
	}
	for e, err := range t.selected(ctx) {
		if errors.Is(err, core.ErrDamaged) || errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return fail(err, "tail")
		}
		x := t.series[e.Ref]
		if x == nil {
			if x, err = t.newSeries(e); err != nil {
				return err
			}
		}
		if x == nil {
			continue
		}
		if at := t.sentTo[e.Path]; t.series[e.Ref] == nil && at > x.next { // it was altered
			x.next = at - at%x.step
		}
		x.path = e.Path
		if found[e.Ref] = x; len(found) > maxTailed {
			return exhausted("more than %d series are selected", maxTailed)
		}
	}
	if n := int64(len(found)) - t.counted; t.server.tailed.Add(n) > maxTailedAll && n > 0 {
		t.server.tailed.Add(-n)
		return exhausted("more than %d series are tailed together: ask for fewer, or later", maxTailedAll)
	}
	clear(t.sentTo)
	t.counted, t.series = int64(len(found)), found
	return nil
}

// selected yields the series that the request selects.
func (t *tail) selected(ctx context.Context) iter.Seq2[core.Series, error] {
	m := t.request
	switch {
	case len(m.GetPaths()) > 0:
		return func(yield func(core.Series, error) bool) {
			for _, path := range m.GetPaths() {
				var e core.Series
				ref, err := t.view.Lookup(path)
				if err == nil {
					e, err = t.view.Series(ref)
				}
				if !yield(e, err) {
					return
				}
			}
		}
	case len(m.GetMatchers()) == 0:
		return t.view.Select(ctx, core.Query{Prefix: m.GetPrefix(), Order: core.ByPath})
	}
	return func(yield func(core.Series, error) bool) {
		for e, err := range t.view.Select(ctx, core.Query{Matchers: t.matchers, Order: core.ByRef}) {
			if err == nil && !strings.HasPrefix(e.Path, m.GetPrefix()) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// newSeries returns a series that t does not have yet; nil if it has no rows to be sent.
func (t *tail) newSeries(e core.Series) (*tailed, error) {
	x := &tailed{ref: e.Ref, archive: query.Finest(e.Definition, t.cf), sources: len(e.Definition.Sources)}
	if x.archive < 0 || e.Definition.Archives[x.archive].CF != t.cf {
		return nil, nil
	}
	x.step = e.Definition.Archives[x.archive].PDPs * e.Definition.Step
	last, err := core.Last(context.Background(), t.server.Store, e.Ref)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fail(err, "last update of %.200q", e.Path)
	}
	after := last.Unix()
	if t.start >= 0 {
		after = t.start
	} else if t.began > 0 { // the series is new
		after = min(after, t.began)
	}
	x.next = after - after%x.step
	// Rows that are older than the archive are not there.
	held := e.Definition.Archives[x.archive].Rows * x.step
	x.next = max(x.next, last.Unix()-last.Unix()%x.step-held)
	return x, nil
}
