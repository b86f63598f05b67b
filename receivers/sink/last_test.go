package sink_test

import (
	"math"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// TestLast: the last sample is what a receiver goes on from after a restart. Replace gives a series
// another definition together with the sample that it has had.
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
	if at, v, err := s.Last(ctx, reqs[0].Ref); at != rra.Seconds(999) || !math.IsNaN(v) || err != nil {
		t.Errorf("a new series: %v %v %v", at, v, err)
	}
	var b core.Batch
	const value = 0.1 + 1e-17
	b.Add(reqs[0].Ref, rra.Seconds(1000)+1500, rra.Float(value))
	if err := store.Append(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if at, v, err := s.Last(ctx, reqs[0].Ref); at != rra.Seconds(1000)+1500 || v != value || err != nil {
		t.Errorf("after a sample: %v %v %v", at, v, err)
	}
	rs := []receivers.Replacement{{Request: receivers.Request{
		Identity: receivers.Identity{Path: "a"}, Time: rra.Seconds(1000),
		Define: func(int64) *rra.Definition { return receivers.StandardDefinition(60) },
	}, Samples: []receivers.Sample{{At: rra.Seconds(1000), Value: rra.Float(7)}}}}
	if err := s.Replace(ctx, rs); err != nil || rs[0].Err != nil || rs[0].Definition.Step != 60 {
		t.Fatalf("%v %+v", err, rs[0])
	}
	if at, v, err := s.Last(ctx, rs[0].Ref); at != rra.Seconds(1000) || v != 7 || err != nil {
		t.Errorf("after a replacement: %v %v %v", at, v, err)
	}
	if _, _, err := s.Last(ctx, reqs[0].Ref); err == nil {
		t.Error("the old reference still has a last sample")
	}
}
