package sink_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// TestLast: the last sample is what a receiver goes on from after a restart. Replace gives a series
// another definition together with the samples that it has had, if it has had no others.
func TestLast(t *testing.T) {
	ctx := t.Context()
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := sink.New(store, sink.Options{})
	reqs := []receivers.Request{{Identity: receivers.Identity{Path: "a"}, Time: rra.Seconds(1000), Define: receivers.StandardDefinition}}
	if err := s.Resolve(ctx, reqs); err != nil || reqs[0].Err != nil {
		t.Fatal(err, reqs[0].Err)
	}
	if at, v, err := s.Last(ctx, reqs[0].Ref); at != rra.Seconds(990) || !math.IsNaN(v) || err != nil {
		t.Errorf("a new series: %v %v %v", at, v, err)
	}
	var b core.Batch
	// The text that rrdtool reads as this value is read as another one by a correct parser.
	const value = 26.925507726363673
	b.Add(reqs[0].Ref, rra.Seconds(1000)+1500, rra.Float(value))
	if err := store.Append(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if at, v, err := s.Last(ctx, reqs[0].Ref); at != rra.Seconds(1000)+1500 || v != value || err != nil {
		t.Errorf("after a sample: %v %v %v", at, v, err)
	}
	ask := func(samples ...sink.Sample) *sink.Replacement {
		t.Helper()
		rs := []sink.Replacement{{Request: receivers.Request{
			Identity: receivers.Identity{Path: "a"}, Time: rra.Seconds(1000),
			Define: func(int64) *rra.Definition { return receivers.StandardDefinition(60) },
		}, Samples: samples}}
		s.Replace(ctx, rs)
		return &rs[0]
	}
	only := sink.Sample{At: rra.Seconds(1000) + 1500, Value: rra.Float(value)}
	for _, wrong := range [][]sink.Sample{
		nil,
		{{At: rra.Seconds(1000) + 1500, Value: rra.Float(7)}},
		{{At: rra.Seconds(1000), Value: rra.Float(value)}},
		{{At: rra.Seconds(1000) + 1000, Value: rra.Float(8)}, only},
		{only, {At: rra.Seconds(1001), Value: rra.Float(value)}},
	} {
		if r := ask(wrong...); !errors.Is(r.Err, sink.ErrChanged) {
			t.Errorf("a series that has had other samples than %v: %v", wrong, r.Err)
		}
	}
	r := ask(only)
	if r.Err != nil || r.Definition.Step != 60 {
		t.Fatalf("%+v", r)
	}
	if got, err := store.Lookup("a"); err != nil || got != r.Ref || got == reqs[0].Ref {
		t.Errorf("the series has the reference %d, want %d, which is new: %v", got, r.Ref, err)
	}
	if at, v, err := s.Last(ctx, r.Ref); at != only.At || v != value || err != nil {
		t.Errorf("after a replacement: %v %v %v", at, v, err)
	}
	if at, v, err := s.Last(ctx, reqs[0].Ref); at != only.At || v != value || err != nil {
		t.Errorf("by the old reference: %v %v %v", at, v, err)
	}
}

// TestReplaceBesideWriters: writers of another node go on while series are replaced. Whatever comes
// first, no sample that was acknowledged is lost.
func TestReplaceBesideWriters(t *testing.T) {
	ctx, store := t.Context(), enginetest.Open(t)
	s := sink.New(store, sink.Options{})
	const series = 50
	reqs := make([]receivers.Request, series)
	for i := range reqs {
		reqs[i] = receivers.Request{Identity: receivers.Identity{Path: fmt.Sprint(i)}, Time: rra.Seconds(1000), Define: receivers.StandardDefinition}
	}
	if err := s.Resolve(ctx, reqs); err != nil {
		t.Fatal(err)
	}
	put := func(i int, at rra.Time, v float64) error {
		ref, err := store.Lookup(reqs[i].Path)
		if err != nil {
			return err
		}
		var b core.Batch
		b.Add(ref, at, rra.Float(v))
		return store.Append(ctx, &b)
	}
	rs := make([]sink.Replacement, series)
	for i := range rs {
		if err := put(i, rra.Seconds(1000), 1); err != nil {
			t.Fatal(err)
		}
		rs[i] = sink.Replacement{Request: reqs[i], Samples: []sink.Sample{{At: rra.Seconds(1000), Value: rra.Float(1)}}}
		rs[i].Define = func(int64) *rra.Definition { return receivers.StandardDefinition(20) }
	}
	var all sync.WaitGroup
	for half := range 2 {
		all.Go(func() {
			for i := half; i < series; i += 2 {
				err := put(i, rra.Seconds(1010), 5)
				for errors.Is(err, core.ErrNotFound) || isGone(err) { // it was replaced just now
					err = put(i, rra.Seconds(1010), 5)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	s.Replace(ctx, rs)
	all.Wait()
	for i := range rs {
		ref, err := store.Lookup(reqs[i].Path)
		if err != nil {
			t.Fatal(err)
		}
		if at, v, err := s.Last(ctx, ref); at != rra.Seconds(1010) || v != 5 || err != nil {
			t.Errorf("series %d, replaced: %v, has %v at %v as its last sample: %v", i, rs[i].Err, v, at, err)
		}
	}
}

// isGone reports whether a sample was refused because its series has another reference.
func isGone(err error) bool {
	r, ok := errors.AsType[*core.RejectedError](err)
	return ok && errors.Is(r.First[0].Err, core.ErrNotFound)
}
