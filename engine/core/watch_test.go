package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
)

// Whoever kept an index of the names had to read the whole catalogue anew to find what changed.
func TestWatchTellsEveryChangeOfTheCatalogue(t *testing.T) {
	ctx := t.Context()
	s := enginetest.Open(t)
	d := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	mustCreate(t, s, "before", d)
	w := s.Watch(100)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a := mustCreate(t, s, "a", d)
	must(s.Rename(ctx, "a", "b.rrd"))
	labels := []core.Label{{Name: "host", Value: "web1"}}
	_, err := s.Relabel(ctx, []core.PathLabels{{Path: "b", Labels: labels}})
	must(err)
	over, err := s.Create(ctx, core.Spec{Path: "b", Definition: d, Overwrite: true})
	must(err)
	meta := core.Metadata{Time: 1, Text: "one", Attributes: []core.Label{{Name: "units", Value: "%"}}}
	for _, text := range []string{"one", "two"} { // a text alone is no change
		meta.Text = text
		_, err = s.SetMetadata(ctx, []core.PathMetadata{{Path: "b", Metadata: meta}})
		must(err)
	}
	must(core.Drop(ctx, s, "b"))
	got, complete := w.Take()
	want := []core.Change{
		{Path: "a", Ref: a},
		{Was: "a", Path: "b.rrd", Ref: a},
		{Was: "b.rrd", Path: "b.rrd", Ref: a, Labels: labels},
		{Was: "b.rrd", Ref: a},
		{Path: "b", Ref: over},
		{Path: "b", Metadata: true},
		{Was: "b", Ref: over},
		{Path: "b", Metadata: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || !complete {
		t.Errorf("complete %v; changes (-want +got):\n%s", complete, diff)
	}
	w.End()
	mustCreate(t, s, "after", d)
	if got, complete := w.Take(); len(got) > 0 || complete {
		t.Errorf("after its end: %v, complete %v", got, complete)
	}
}

func TestWatchForgetsWhatNobodyTakes(t *testing.T) {
	s := enginetest.Open(t)
	d := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	w := s.Watch(3)
	defer w.End()
	for i := range 3 {
		mustCreate(t, s, fmt.Sprint("a", i), d)
	}
	if got, complete := w.Take(); len(got) != 3 || !complete {
		t.Errorf("%d changes, complete %v", len(got), complete)
	}
	for i := range 5 {
		mustCreate(t, s, fmt.Sprint("b", i), d)
	}
	if got, complete := w.Take(); len(got) != 0 || complete {
		t.Errorf("%d changes, complete %v", len(got), complete)
	}
}

// All must yield the same series as List, before and after a checkpoint, and what changed since.
func TestAllYieldsWhatListDoes(t *testing.T) {
	ctx := t.Context()
	s := enginetest.Open(t)
	d := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	compare := func(when string, n int) {
		t.Helper()
		var all, list []core.Series
		for e, err := range s.Select(ctx, core.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		for e, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		slices.SortFunc(all, func(a, b core.Series) int { return int(a.Ref) - int(b.Ref) })
		slices.SortFunc(list, func(a, b core.Series) int { return int(a.Ref) - int(b.Ref) })
		if !slices.EqualFunc(all, list, func(a, b core.Series) bool { return a.Ref == b.Ref && a.Path == b.Path }) || len(all) != n {
			t.Errorf("%s: %d series, List has %d, want %d", when, len(all), len(list), n)
		}
	}
	for i := range 3000 {
		mustCreate(t, s, fmt.Sprintf("s%d", i), d)
	}
	compare("in memory", 3000)
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	compare("stored", 3000)
	for i := range 10 {
		if err := errors.Join(core.Drop(ctx, s, fmt.Sprint("s", i)), s.Rename(ctx, fmt.Sprint("s", 100+i), fmt.Sprint("t", i))); err != nil {
			t.Fatal(err)
		}
		mustCreate(t, s, fmt.Sprint("u", i), d)
	}
	compare("changed", 3000)
}

func TestMemoryShareKeepsWithinTheBudget(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{Memory: 8 << 20})
	m := s.MemoryShare()
	before := s.Stats().MemoryBytes
	if err := m.Resize(100 << 20); !errors.Is(err, core.ErrMemory) || m.Bytes() != 0 {
		t.Errorf("too much: %v, %d bytes", err, m.Bytes())
	}
	for _, n := range []int64{1 << 20, 2 << 20, 500, 0} {
		if err := m.Resize(n); err != nil || m.Bytes() != n || s.Stats().MemoryBytes != before+n {
			t.Errorf("%v, the share is %d bytes, want %d; the store counts %d more", err, m.Bytes(), n, s.Stats().MemoryBytes-before)
		}
	}
}
