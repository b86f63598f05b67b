package sink_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// TestSinkMakesNamesPrintable: labels and texts of senders that a store refuses are made such that
// it takes them, and nothing that was sent is lost for it.
func TestSinkMakesNamesPrintable(t *testing.T) {
	store := enginetest.Open(t)
	to := sink.New(store, sink.Options{})
	ctx := t.Context()
	raw := []core.Label{{Name: "ho\nst", Value: "web\xff\x1b[31m1"}, {Name: "plugin", Value: "load"}}
	want := []core.Label{{Name: "ho_st", Value: "web\uFFFD_[31m1"}, {Name: "plugin", Value: "load"}}
	sent := append([]core.Label(nil), raw...)
	reqs := []receivers.Request{{
		Identity: receivers.Identity{Path: string(receivers.AppendComponent(nil, "web\xff\x1b1")), Labels: sent}, Time: rra.Seconds(1_000_000_000),
	}}
	d := receivers.StandardDefinition(10)
	d.Sources = []rra.DataSource{{Name: "v", Kind: rra.Gauge, Heartbeat: 20, Min: math.NaN(), Max: math.NaN()}}
	reqs[0].Define = func(int64) *rra.Definition { return d }
	if err := errors.Join(to.Resolve(ctx, reqs), reqs[0].Err); err != nil {
		t.Fatal(err)
	}
	series, err := store.Series(reqs[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, series.Labels); diff != "" || series.Path != "web\uFFFD_1" {
		t.Errorf("path %q, labels (-want +got):\n%s", series.Path, diff)
	}
	out, err := to.Describe(ctx, []receivers.Description{{PathMetadata: core.PathMetadata{Path: "p", Metadata: core.Metadata{
		Text: "all\xffwell\n", Attributes: []core.Label{{Name: "a\n", Value: "x\x00y\nz"}, {Name: "b", Value: "\xff"}},
	}}}})
	if err := errors.Join(append(out, err)...); err != nil {
		t.Fatal(err)
	}
	m, err := store.Metadata("p")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]core.Label{{Name: "a_", Value: "x_y\nz"}, {Name: "b", Value: "\uFFFD"}}, m.Attributes); diff != "" || m.Text != "all\uFFFDwell\n" {
		t.Errorf("text %q, attributes (-want +got):\n%s", m.Text, diff)
	}
	if err := to.Note(ctx, "p", core.Note{Text: "\xff", Severity: "ok\xff", Labels: raw}); err != nil {
		t.Fatal(err)
	}
	notes, err := store.Notes(ctx, "p")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, notes["p"][0].Labels); diff != "" {
		t.Errorf("labels of the note (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(raw, sent); diff != "" {
		t.Errorf("the sender's labels were changed:\n%s", diff)
	}
}
