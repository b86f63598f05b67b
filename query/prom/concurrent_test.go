package prom_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/rra"
)

// Queries find series of their names only, and all that stay, while others come, go and change.
func TestQueriesWhileSeriesChange(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	d := definition(rra.Gauge, 10, 1)
	for i := range 20 {
		w.create(fmt.Sprintf("stay/%d", i), fmt.Sprintf("__name__=stay i=%d", i), d)
	}
	quit := make(chan struct{})
	var changes, queries sync.WaitGroup
	for g := range 2 {
		changes.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-quit:
					return
				default:
				}
				path := fmt.Sprintf("change/%d/%d", g, n%7)
				labels := labelsOf(fmt.Sprintf("__name__=change_%d i=%d", n%5, n%3))
				_, err := w.store.Create(ctx, core.Spec{Path: path, Labels: labels, Definition: d, Start: rra.Seconds(t0)})
				if errors.Is(err, core.ErrExists) && n%2 == 0 {
					_, err = w.store.Relabel(ctx, []core.PathLabels{{Path: path, Labels: labels}})
				} else if errors.Is(err, core.ErrExists) {
					err = core.Drop(ctx, w.store, path)
				}
				if err == nil && n%50 == 49 {
					err = w.store.Checkpoint(ctx)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for g := range 2 {
		queries.Go(func() {
			for n := range 60 {
				name := fmt.Sprintf("change_%d", n%5)
				for _, ls := range w.selected(t.Context(), labels.MustNewMatcher(labels.MatchEqual, "__name__", name)) {
					if got := ls.Get("__name__"); got != name {
						t.Errorf("%d: found %s, not %s", g, ls, name)
					}
				}
				if got := len(w.selected(t.Context(), labels.MustNewMatcher(labels.MatchRegexp, "__name__", "st.*"))); got != 20 {
					t.Errorf("%d: %d series stay, want 20", g, got)
				}
			}
		})
	}
	queries.Wait()
	close(quit)
	changes.Wait()
}

// A query whose context is done ends with its error.
func TestQueryEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	w.create("a", "__name__=x", definition(rra.Gauge, 10, 1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	q, err := w.prom.Querier(0, t0*1000)
	if err != nil {
		t.Fatal(err)
	}
	set := q.Select(ctx, false, &storage.SelectHints{End: t0 * 1000}, labels.MustNewMatcher(labels.MatchEqual, "__name__", "x"))
	if set.Next() || !errors.Is(set.Err(), context.Canceled) {
		t.Errorf("error %v", set.Err())
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// A selector that finds or reads too much ends with an error that names the limit.
func TestLimitsOfSelectors(t *testing.T) {
	w := newWorld(t)
	prom.Limited(w.prom, 3, 100)
	d := definition(rra.Gauge, 10, 1)
	for i := range 4 {
		w.feed(w.create(fmt.Sprintf("a/%d", i), fmt.Sprintf("__name__=x i=%d n=%d", i, i/3), d), 10, 90, gauge(1))
	}
	for _, c := range []struct {
		matcher *labels.Matcher
		what    string
	}{
		{labels.MustNewMatcher(labels.MatchEqual, "__name__", "x"), "series"},
		{labels.MustNewMatcher(labels.MatchEqual, "n", "0"), "rows"},
		{labels.MustNewMatcher(labels.MatchEqual, "i", "1"), ""},
	} {
		q, err := w.prom.Querier(t0*1000, (t0+900)*1000)
		if err != nil {
			t.Fatal(err)
		}
		set := q.Select(context.Background(), false, nil, c.matcher)
		var limit *prom.LimitError
		if c.what == "" && set.Err() != nil || c.what != "" && (!errors.As(set.Err(), &limit) || limit.What != c.what) {
			t.Errorf("%s: %v, want a limit of %q", c.matcher, set.Err(), c.what)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}
