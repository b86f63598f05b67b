package sink_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

func TestSweep(t *testing.T) {
	const began = 1_700_000_000
	s := enginetest.Open(t)
	now := time.Unix(began, 0)
	w := sink.NewSweeper(s, func() time.Time { return now })
	policy, err := sink.NewPolicy([]sink.Rule{
		{Path: "rule/never*", Expire: -1},
		{Path: "rule/**", Expire: 3600},
	})
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
	beat := newBeat(t, s, began)

	state := func() map[string]string {
		t.Helper()
		out := make(map[string]string)
		for x, err := range s.Select(t.Context(), core.Query{Order: core.ByPath}) {
			if err != nil {
				t.Fatal(err)
			}
			out[x.Path] = "series"
		}
		for m, err := range s.ListMetadata(t.Context(), core.MetadataQuery{}) {
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
	looked := int64(0)
	// sweep looks every 50 s up to at; the last look does what swept says, the others do nothing.
	sweep := func(at int64, swept sink.Swept) {
		t.Helper()
		for looked < at {
			looked += 50
			now = time.Unix(began+looked, 0)
			beat(looked)
			got, err := w.Sweep(t.Context(), policy, 50*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			var want sink.Swept
			if looked == at {
				want = swept
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("swept after %d s (-want +got):\n%s", looked, d)
			}
		}
		if d := cmp.Diff(want, state()); d != "" {
			t.Errorf("after %d s (-want +got):\n%s", at, d)
		}
	}
	sweep(300, sink.Swept{}) // long silent, but the sweeper has not watched for long
	delete(want, "text/short")
	delete(want, "text/delete")
	delete(want, "delete/old")
	want["kept/old"] += " expired"
	sweep(350, sink.Swept{Expired: 3, Dropped: 1})
	sweep(800, sink.Swept{})
	delete(want, "text/renewed")
	delete(want, "delete/live")
	want["kept/live"] += " expired"
	sweep(850, sink.Swept{Expired: 2, Dropped: 1})
	sweep(3550, sink.Swept{})
	for i := range 3 {
		delete(want, fmt.Sprint("rule/old", i))
	}
	delete(want, "rule/text")
	sweep(3600, sink.Swept{Expired: 1, Dropped: 3})
	sweep(4050, sink.Swept{})
	delete(want, "rule/live")
	sweep(4100, sink.Swept{Dropped: 1})
	if m, err := s.Metadata("kept/old"); err != nil || m.Text != "" || !m.Expired {
		t.Errorf("metadata %+v, %v: text remains", m, err)
	}
}

// newBeat returns a function that appends a sample to a series of its own, so many seconds after
// began: somebody still sends.
func newBeat(t *testing.T, s *core.Store, began int64) func(at int64) {
	t.Helper()
	ref, err := s.Create(t.Context(), core.Spec{Path: "beat", Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began)})
	if err != nil {
		t.Fatal(err)
	}
	return func(at int64) {
		t.Helper()
		var b core.Batch
		b.Add(ref, rra.Seconds(began+at), rra.Float(1))
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSweepOfLivingSeries: a clock that is set, a process that was stopped and senders whose clock
// is behind make nothing expire that still sends. Each of them dropped living series.
func TestSweepOfLivingSeries(t *testing.T) {
	const began, expire = 1_700_000_000, 20
	for _, tt := range []struct {
		name string
		// jump is what happens between two looks of one every 10 s: how far the sweeper's clock and
		// the senders' go on.
		jump, senders int64
	}{
		{"stopped", 40, 40},      // samples of the time are read after the look
		{"clock set", 18_000, 0}, // the senders' clocks are right
		{"clock set, all", 18_000, 18_000},
		{"a year", 366 * 86400, 0},
		{"forty years", 40 * 365 * 86400, 0},
		{"20 s", 30, 0},
		{"an hour", 3610, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := enginetest.Open(t)
			clock, senders := int64(0), int64(0)
			w := sink.NewSweeper(s, func() time.Time { return time.Unix(began+clock, 0) })
			p, err := sink.NewPolicy([]sink.Rule{{Path: "living", Expire: expire}, {Path: "dead", Expire: expire}})
			if err != nil {
				t.Fatal(err)
			}
			beat := newBeat(t, s, began)
			var refs []core.Ref
			for _, path := range []string{"living", "dead"} {
				ref, err := s.Create(t.Context(), core.Spec{Path: path, Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began)})
				if err != nil {
					t.Fatal(err)
				}
				refs = append(refs, ref)
			}
			dropped := 0
			for look := range int64(60) {
				clock, senders = clock+10, senders+10
				if look%20 == 10 {
					clock, senders = clock+tt.jump-10, senders+tt.senders-10
				} else { // living sends every 10 s, and what it sent is read before the look
					var b core.Batch
					b.Add(refs[0], rra.Seconds(began+senders-3), rra.Float(1))
					if err := s.Append(t.Context(), &b); err != nil {
						t.Fatal(err)
					}
				}
				beat(clock)
				done, err := w.Sweep(t.Context(), p, 10*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				dropped += done.Dropped
				if _, err := s.Lookup("living"); err != nil {
					t.Fatalf("look %d: %v", look, err)
				}
			}
			if dropped != 1 {
				t.Errorf("%d series were dropped, want the dead one", dropped)
			}
		})
	}
}

// A damaged store has a path that cannot be read, and says so of lists, as a Store does.
type damaged struct {
	*core.Store
	path string
}

func (s *damaged) Lookup(path string) (core.Ref, error) {
	if path == s.path {
		return 0, core.ErrDamaged
	}
	return s.Store.Lookup(path)
}

func (s *damaged) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	return func(yield func(core.PathMetadata, error) bool) {
		for m, err := range s.Store.ListMetadata(ctx, q) {
			if !yield(m, err) {
				return
			}
		}
		yield(core.PathMetadata{}, core.ErrDamaged)
	}
}

func (s *damaged) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		for x, err := range s.Store.Select(ctx, q) {
			if !yield(x, err) {
				return
			}
		}
		yield(core.Series{}, core.ErrDamaged)
	}
}

// TestSweepBesideDamage: what is damaged stays, and all else expires. One damaged entry of the
// catalogue ended all expiry.
func TestSweepBesideDamage(t *testing.T) {
	const began = 1_700_000_000
	s := &damaged{enginetest.Open(t), "a/damaged"}
	now := time.Unix(began, 0)
	w := sink.NewSweeper(s, func() time.Time { return now })
	policy, err := sink.NewPolicy([]sink.Rule{{Path: "rule/**", Expire: 300}})
	if err != nil {
		t.Fatal(err)
	}
	texts := []core.PathMetadata{{Path: "a/damaged"}, {Path: "text"}}
	for i := range texts {
		texts[i].Metadata = core.Metadata{Time: rra.Seconds(began), Text: "x", Expire: 300}
	}
	if out, err := s.SetMetadata(t.Context(), texts); errors.Join(append(out, err)...) != nil {
		t.Fatal(out, err)
	}
	if _, err := s.Create(t.Context(), core.Spec{Path: "rule/a", Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began)}); err != nil {
		t.Fatal(err)
	}
	beat := newBeat(t, s.Store, began)
	var done sink.Swept
	for look := range int64(60) {
		now = now.Add(10 * time.Second)
		beat(10 * (look + 1))
		d, err := w.Sweep(t.Context(), policy, 10*time.Second)
		if !errors.Is(err, core.ErrDamaged) {
			t.Fatal(err)
		}
		done.Expired, done.Dropped = done.Expired+d.Expired, done.Dropped+d.Dropped
	}
	if want := (sink.Swept{Expired: 1, Dropped: 1}); done != want {
		t.Errorf("%+v, want %+v", done, want)
	}
}

// TestSweepDeletesInBusyGroup: series that are to be deleted when they expire are, though others of
// their group are written to all the time. They lost the metadata that says so, and stayed for
// ever.
func TestSweepDeletesInBusyGroup(t *testing.T) {
	const began, n = 1_700_000_000, 200
	s := enginetest.Open(t)
	clock := int64(0)
	w := sink.NewSweeper(s, func() time.Time { return time.Unix(began+clock, 0) })
	var specs []core.Spec
	var ms []core.PathMetadata
	for i := range n {
		path := fmt.Sprintf("ganglia/dead/%d", i)
		specs = append(specs, core.Spec{Path: path, Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began)})
		ms = append(ms, core.PathMetadata{Path: path, Metadata: core.Metadata{
			Time: rra.Seconds(began), Expire: 300,
			Attributes: []core.Label{{Name: receivers.AttributeOnExpiry, Value: receivers.ExpireDelete}},
		}})
	}
	specs = append(specs, core.Spec{Path: "ganglia/live", Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began)})
	out, err := s.CreateBatch(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetMetadata(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { // a host that sends
		for at := int64(2000); ; at++ {
			select {
			case <-stop:
				return
			default:
			}
			var b core.Batch
			b.Add(out[n].Ref, rra.Seconds(began+at), rra.Float(1))
			if err := s.Append(t.Context(), &b); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for s.Stats().Newest < rra.Seconds(began+2000) && !t.Failed() {
		runtime.Gosched()
	}
	dropped := 0
	for range 3 {
		clock += 300
		done, err := w.Sweep(t.Context(), nil, 300*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		dropped += done.Dropped
	}
	close(stop)
	running.Wait()
	if dropped != n {
		t.Errorf("%d of %d dead series were deleted", dropped, n)
	}
}

// TestTextsAreBounded: the beginning of a long text is kept, whole in its characters.
func TestTextsAreBounded(t *testing.T) {
	s := enginetest.Open(t)
	to := sink.New(s, sink.Options{})
	d := receivers.Description{Sender: "h", PathMetadata: core.PathMetadata{Path: "p", Metadata: core.Metadata{Time: 1}}}
	for _, tt := range []struct {
		text string
		want int
	}{{strings.Repeat("x", 4096), 4096}, {strings.Repeat("x", 60_000), 4096}, {strings.Repeat("ü", 3000), 4095}} {
		d.Text = tt.text
		out, err := to.Describe(t.Context(), []receivers.Description{d})
		if err != nil || out[0] != nil {
			t.Fatal(out, err)
		}
		m, err := to.Metadata(t.Context(), "p")
		if err != nil || len(m.Text) != tt.want || !utf8.ValidString(m.Text) || m.Text[:4000] != tt.text[:4000] {
			t.Errorf("text of %d bytes: %d bytes are kept, %v, want %d", len(tt.text), len(m.Text), err, tt.want)
		}
	}
}

// TestRelabel: a request may give a series that is there other labels, if the series takes the
// values.
func TestRelabel(t *testing.T) {
	s := enginetest.Open(t)
	to := sink.New(s, sink.Options{})
	labels := func(relabel bool, units string, fits func(*rra.Definition) bool) []core.Label {
		t.Helper()
		reqs := make([]receivers.Request, 20)
		for i := range reqs {
			id := receivers.Identity{Path: fmt.Sprint("p/", i), Labels: []core.Label{{Name: "units", Value: units}, {Name: "empty"}}}
			reqs[i] = receivers.Request{Identity: id, Sender: "h", Time: rra.Seconds(1000), Define: receivers.StandardDefinition, Relabel: relabel, Fits: fits}
		}
		if err := to.Resolve(t.Context(), reqs); err != nil {
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
		if d := cmp.Diff(want, labels(tt.relabel, tt.units, nil)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt, d)
		}
	}
	if got := labels(true, "c", func(*rra.Definition) bool { return false }); got[0].Value != "b" {
		t.Errorf("values that do not fit change the labels to %v", got)
	}
}

// TestSweepAfterAStartWithAWrongClock: a server that started while the clock was ahead expired
// nothing until the time of its start had come again.
func TestSweepAfterAStartWithAWrongClock(t *testing.T) {
	const began, expire = 1_700_000_000, 20
	for _, ahead := range []int64{20, 3600, 5 * 3600, 40 * 365 * 86400} {
		s := enginetest.Open(t)
		clock := began + ahead
		w := sink.NewSweeper(s, func() time.Time { return time.Unix(clock, 0) })
		p, err := sink.NewPolicy([]sink.Rule{{Path: "dead", Expire: expire}})
		if err != nil {
			t.Fatal(err)
		}
		beat := newBeat(t, s, began)
		if _, err := s.Create(t.Context(), core.Spec{Path: "dead", Definition: receivers.StandardDefinition(0), Start: rra.Seconds(began)}); err != nil {
			t.Fatal(err)
		}
		dropped := 0
		for look := range int64(10) {
			clock = began + 10*(look+1)
			beat(clock - began)
			done, err := w.Sweep(t.Context(), p, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if dropped += done.Dropped; dropped > 0 && look < 2 {
				t.Errorf("the clock was %d s ahead: dropped at look %d", ahead, look)
			}
		}
		if dropped != 1 {
			t.Errorf("the clock was %d s ahead: %d series were dropped, want 1", ahead, dropped)
		}
	}
}
