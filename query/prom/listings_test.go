package prom_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/rra"
)

// values returns the values of a label, for the user of ctx.
func (w *world) values(ctx context.Context, name string, hints *storage.LabelHints, ms ...*labels.Matcher) []string {
	w.Helper()
	q, err := w.prom.Querier(0, 1)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	out, _, err := q.LabelValues(ctx, name, hints, ms...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// TestListingsFollowTheCatalogue: lists of values are kept, so each change of the catalogue and of
// the rules must be seen in the next one.
func TestListingsFollowTheCatalogue(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	d := definition(rra.Gauge, 10, 1)
	is := func(want ...string) {
		t.Helper()
		for range 2 { // the second one is kept
			if got := w.values(ctx, "i", nil); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	is()
	w.create("a", "__name__=x i=1", d)
	is("1")
	w.create("b", "__name__=x i=2", d)
	is("1", "2")
	if _, err := w.store.Relabel(ctx, []core.PathLabels{{Path: "b", Labels: labelsOf("__name__=x i=3")}}); err != nil {
		t.Fatal(err)
	}
	is("1", "3")
	if err := core.Drop(ctx, w.store, "a"); err != nil {
		t.Fatal(err)
	}
	is("3")
	w.create("other/7", "", d)
	rule, err := prom.NewRule("other/(.*)", "ruled", map[string]string{"i": "$1"})
	if err != nil {
		t.Fatal(err)
	}
	w.prom.SetRules([]prom.Rule{rule})
	is("3", "7")
	if got := w.values(ctx, "i", &storage.LabelHints{Limit: 1}); !slices.Equal(got, []string{"3"}) {
		t.Errorf("one: %q", got)
	}
	if got := w.values(ctx, "i", nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "ruled")); !slices.Equal(got, []string{"7"}) {
		t.Errorf("of one name: %q", got)
	}
	tenant := &access.User{Name: "tenant", Role: access.Read, Folders: []string{"b"}}
	if got := w.values(access.With(ctx, tenant), "i", nil); !slices.Equal(got, []string{"3"}) {
		t.Errorf("a user of one folder sees %q", got)
	}
	is("3", "7")
}

// TestAListingIsFoundOnce: each request for the values of a label read the whole index of these.
func TestAListingIsFoundOnce(t *testing.T) {
	w := newWorld(t)
	d := definition(rra.Gauge, 10, 1)
	for i := range 200 {
		w.create(fmt.Sprintf("a/%d", i), fmt.Sprintf("__name__=x i=%d", i), d)
	}
	if n := testing.AllocsPerRun(20, func() { w.values(t.Context(), "i", nil) }); n > 40 {
		t.Errorf("%v allocations for 200 values that are known", n)
	}
}

// TestSeriesOfATime: a list of series has those with a sample in its time, at both edges.
func TestSeriesOfATime(t *testing.T) {
	w := newWorld(t)
	d := definition(rra.Gauge, 10, 1)
	w.feed(w.create("a", "__name__=x i=1", d), 10, 3, gauge(1))
	w.feed(w.create("b", "__name__=x i=2", d), 10, 9, gauge(1))
	for _, c := range []struct {
		from, to int64 // seconds behind t0
		want     int
	}{{-100, 0, 0}, {-100, 10, 2}, {30, 40, 2}, {31, 40, 1}, {90, 900, 1}, {91, 900, 0}, {-t0, 900, 2}} {
		found := w.selectedWithin(t.Context(), (t0+c.from)*1000, (t0+c.to)*1000, labels.MustNewMatcher(labels.MatchEqual, "__name__", "x"))
		if len(found) != c.want {
			t.Errorf("from %d s to %d s: %v, want %d", c.from, c.to, found, c.want)
		}
	}
}
