package receivers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

func TestSweep(t *testing.T) {
	const began = 1_700_000_000
	s := enginetest.Open(t)
	now := time.Unix(began, 0)
	w := receivers.NewSweeper(s, func() time.Time { return now })
	policy, err := receivers.NewPolicy([]receivers.Rule{
		{Path: "rule/never*", Expire: -1},
		{Path: "rule/**", Expire: 3600},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	meta := func(path string, last, expire int64, attributes ...core.Label) {
		t.Helper()
		m := core.PathMetadata{Path: path, Metadata: core.Metadata{Time: rra.Seconds(began + last), Text: "x", Expire: expire, Attributes: attributes}}
		if out, err := s.SetMetadata(t.Context(), []core.PathMetadata{m}); err != nil || out[0] != nil {
			t.Fatal(out, err)
		}
	}
	series := func(path string, last int64) {
		t.Helper()
		if _, err := s.Create(t.Context(), core.Spec{Path: path, Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began + last)}); err != nil {
			t.Fatal(err)
		}
	}
	remove := core.Label{Name: receivers.AttributeOnExpiry, Value: receivers.ExpireDelete}
	// Last samples lie before the sweeper began, or 500 s after.
	meta("text/short", -1000, 300)
	meta("text/renewed", 500, 300)
	meta("text/for ever", -1000, 0)
	meta("text/delete", -1000, 300, remove)
	series("kept/old", -1000)
	meta("kept/old", -1000, 300)
	series("kept/live", 500)
	meta("kept/live", -1000, 300)
	series("delete/old", -1000)
	meta("delete/old", -1000, 300, remove)
	series("delete/live", 500)
	meta("delete/live", -1000, 300, remove)
	series("none", -10_000)
	for i := range 3 {
		series(fmt.Sprint("rule/old", i), -1000)
		series(fmt.Sprint("rule/never", i), -1000)
	}
	meta("rule/old0", -1000, 300, remove)
	meta("rule/never0", -1000, 300, remove)
	series("rule/live", 500)
	meta("rule/text", -1000, 0)

	state := func() map[string]string {
		t.Helper()
		out := make(map[string]string)
		for x, err := range s.List(t.Context(), "", "") {
			if err != nil {
				t.Fatal(err)
			}
			out[x.Path] = "series"
		}
		for m, err := range s.ListMetadata(t.Context(), "", "") {
			if err != nil {
				t.Fatal(err)
			}
			out[m.Path] += " metadata"
			if m.Expired {
				out[m.Path] += " expired"
			}
		}
		return out
	}
	want := state()
	sweep := func(at int64, swept receivers.Swept) {
		t.Helper()
		now = time.Unix(began+at, 0)
		got, err := w.Sweep(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(swept, got); d != "" {
			t.Errorf("swept after %d s (-want +got):\n%s", at, d)
		}
		if d := cmp.Diff(want, state()); d != "" {
			t.Errorf("after %d s (-want +got):\n%s", at, d)
		}
	}
	sweep(299, receivers.Swept{}) // long silent, but the sweeper has not listened long
	delete(want, "text/short")
	delete(want, "text/delete")
	delete(want, "delete/old")
	want["kept/old"] += " expired"
	sweep(600, receivers.Swept{Expired: 3, Dropped: 1})
	sweep(700, receivers.Swept{})
	delete(want, "text/renewed")
	delete(want, "delete/live")
	want["kept/live"] += " expired"
	sweep(801, receivers.Swept{Expired: 2, Dropped: 1})
	for i := range 3 {
		delete(want, fmt.Sprint("rule/old", i))
	}
	delete(want, "rule/text")
	sweep(3601, receivers.Swept{Expired: 1, Dropped: 3})
	delete(want, "rule/live")
	sweep(4200, receivers.Swept{Dropped: 1})
	if m, err := s.Metadata("kept/old"); err != nil || m.Text != "" || !m.Expired {
		t.Errorf("metadata %+v, %v: text remains", m, err)
	}
}

// TestTextsAreBounded: the beginning of a long text is kept, whole in its characters.
func TestTextsAreBounded(t *testing.T) {
	s := enginetest.Open(t)
	sink := receivers.NewStoreSink(s, receivers.StoreOptions{})
	d := receivers.Description{Sender: "h", PathMetadata: core.PathMetadata{Path: "p", Metadata: core.Metadata{Time: 1}}}
	for _, tt := range []struct {
		text string
		want int
	}{{strings.Repeat("x", 4096), 4096}, {strings.Repeat("x", 60_000), 4096}, {strings.Repeat("ü", 3000), 4095}} {
		d.Text = tt.text
		out, err := sink.Describe(t.Context(), []receivers.Description{d})
		if err != nil || out[0] != nil {
			t.Fatal(out, err)
		}
		m, err := sink.Metadata(t.Context(), "p")
		if err != nil || len(m.Text) != tt.want || !utf8.ValidString(m.Text) || m.Text[:4000] != tt.text[:4000] {
			t.Errorf("text of %d bytes: %d bytes are kept, %v, want %d", len(tt.text), len(m.Text), err, tt.want)
		}
	}
}

// TestRelabel: a request may give a series that is there other labels.
func TestRelabel(t *testing.T) {
	s := enginetest.Open(t)
	sink := receivers.NewStoreSink(s, receivers.StoreOptions{})
	labels := func(relabel bool, units string) []core.Label {
		t.Helper()
		reqs := make([]receivers.Request, 20)
		for i := range reqs {
			id := receivers.Identity{Path: fmt.Sprint("p/", i), Labels: []core.Label{{Name: "units", Value: units}, {Name: "empty"}}}
			reqs[i] = receivers.Request{Identity: id, Sender: "h", Time: rra.Seconds(1000), Define: receivers.StandardDefinition, Relabel: relabel}
		}
		if err := sink.Resolve(t.Context(), reqs); err != nil {
			t.Fatal(err)
		}
		for _, r := range reqs {
			if r.Err != nil || r.Ref == 0 {
				t.Fatalf("%s: %v, %v", r.Path, r.Ref, r.Err)
			}
		}
		x, err := s.Series(reqs[7].Ref)
		if err != nil {
			t.Fatal(err)
		}
		return x.Labels
	}
	for _, tt := range []struct {
		relabel     bool
		units, want string
	}{{false, "a", "a"}, {false, "b", "a"}, {true, "b", "b"}, {true, "b", "b"}} {
		want := []core.Label{{Name: "units", Value: tt.want}}
		if d := cmp.Diff(want, labels(tt.relabel, tt.units)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt, d)
		}
	}
}
