package sink_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// fakeStore is a catalogue in memory.
type fakeStore struct {
	sink.Engine // what no test calls
	series      []core.Series
	specs       []core.Spec
	batches     [][]string // paths of each CreateBatch
	most        int
	fail        error
	lost        string // a path that cannot be looked up
	parts       int    // CreateBatch fails after so many; 0: it does not
}

func (s *fakeStore) Lookup(path string) (core.Ref, error) {
	for _, x := range s.series {
		if x.Path == path {
			return x.Ref, nil
		}
	}
	if path == s.lost {
		return 0, core.ErrDamaged
	}
	return 0, fmt.Errorf("%q: %w", path, core.ErrNotFound)
}

func (s *fakeStore) Resolve(_ context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	for i, ref := range refs {
		if !fn(i, s.series[ref-1]) {
			break
		}
	}
	return nil
}

func (s *fakeStore) CreateBatch(_ context.Context, specs []core.Spec) ([]core.Created, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	if s.parts > 0 && len(s.batches) >= s.parts {
		return nil, core.ErrClosed
	}
	var paths []string
	out := make([]core.Created, len(specs))
	for i, spec := range specs {
		paths = append(paths, spec.Path)
		if s.most > 0 && len(s.series) >= s.most {
			out[i].Err = core.ErrSeriesLimit
			continue
		}
		if spec.Path == "raced" { // another receiver was faster
			s.series = append(s.series, core.Series{Ref: core.Ref(len(s.series) + 1), Path: spec.Path, Definition: define(77)})
			out[i] = core.Created{Ref: core.Ref(len(s.series)), Err: core.ErrExists}
			continue
		}
		s.specs = append(s.specs, spec)
		s.series = append(s.series, core.Series{Ref: core.Ref(len(s.series) + 1), Path: spec.Path, Labels: spec.Labels, Definition: spec.Definition})
		out[i].Ref = core.Ref(len(s.series))
	}
	s.batches = append(s.batches, paths)
	return out, nil
}

func (s *fakeStore) Submit(context.Context, *core.Batch, *core.Ticket) error { return nil }

func (s *fakeStore) Renames() uint64 { return 0 }

func (s *fakeStore) AddNote(context.Context, string, core.Note) error { return nil }

func (s *fakeStore) Relabel(_ context.Context, ls []core.PathLabels) ([]error, error) {
	return make([]error, len(ls)), nil
}

func (s *fakeStore) SetMetadata(_ context.Context, ms []core.PathMetadata) ([]error, error) {
	out := make([]error, len(ms))
	for i, m := range ms {
		if m.Path == "refused" {
			out[i] = core.ErrInvalid
		}
	}
	return out, nil
}

func (s *fakeStore) ListMetadata(context.Context, core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	return func(func(core.PathMetadata, error) bool) {}
}

func requests(sender string, paths ...string) []receivers.Request {
	var reqs []receivers.Request
	for _, p := range paths {
		reqs = append(reqs, receivers.Request{
			Identity: receivers.Identity{Path: p, Labels: []core.Label{{Name: "host", Value: sender}, {Name: "empty"}}},
			Sender:   sender, Time: rra.Time(1_700_000_000_750_000), Define: define,
		})
	}
	return reqs
}

func TestSinkResolve(t *testing.T) {
	store := new(fakeStore)
	to := sink.New(store, sink.Options{})
	reqs := requests("h", "a", "b", "a", "raced")
	if err := to.Resolve(t.Context(), reqs); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range reqs {
		got = append(got, fmt.Sprint(r.Path, r.Ref, r.Definition.Step, r.Err))
	}
	if diff := cmp.Diff([]string{"a1 10 <nil>", "b2 10 <nil>", "a1 10 <nil>", "raced3 77 <nil>"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"a", "b", "raced"}}, store.batches); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	if got := store.specs[0].Start; got != rra.Seconds(1_699_999_990) {
		t.Errorf("start %v, want one step before the whole second of the first sample", got.Std())
	}
	if diff := cmp.Diff([]core.Label{{Name: "host", Value: "h"}}, store.specs[0].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	reqs = requests("h", "b", "a")
	reqs[0].Define = func(int64) *rra.Definition { t.Error("a series that is there was defined"); return nil }
	if err := to.Resolve(t.Context(), reqs); err != nil || reqs[0].Ref != 2 || reqs[1].Ref != 1 || len(store.batches) != 1 {
		t.Errorf("%v, %v: made again", err, reqs)
	}
}

func TestSinkLimits(t *testing.T) {
	now := time.Unix(1000, 0)
	store := &fakeStore{most: 9}
	to := sink.New(store, sink.Options{SenderBurst: 3, SenderRate: 2, Now: func() time.Time { return now }})
	resolve := func(sender string, paths ...string) string {
		t.Helper()
		reqs := requests(sender, paths...)
		if err := to.Resolve(t.Context(), reqs); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, r := range reqs {
			switch {
			case r.Err == nil && r.Ref != 0:
				out.WriteByte('+')
			case errors.Is(r.Err, receivers.ErrSenderLimit):
				out.WriteByte('s')
			case errors.Is(r.Err, core.ErrSeriesLimit):
				out.WriteByte('g')
			default:
				out.WriteString(fmt.Sprint(r.Err))
			}
		}
		return out.String()
	}
	for _, test := range []struct {
		after  time.Duration
		sender string
		paths  string
		want   string
	}{
		{0, "x", "abcde", "+++ss"},
		{0, "x", "abd", "++s"},           // what is there costs nothing
		{0, "y", "fg", "++"},             // each sender for itself
		{time.Minute, "x", "deh", "++s"}, // two more a minute
		{time.Hour, "x", "hijk", "++gs"}, // nine in all; no more than a burst is saved up
		{0, "x", "j", "g"},               // what was not made is given back
	} {
		now = now.Add(test.after)
		if got := resolve(test.sender, strings.Split(test.paths, "")...); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.sender, test.paths, got, test.want)
		}
	}
	st := to.Stats()
	want := sink.Stats{Made: 9, Senders: 2}
	want.Refused[sink.RefusedSender], want.Refused[sink.RefusedSeries] = 5, 2
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	store.fail, store.most = core.ErrClosed, 0
	if err := to.Resolve(t.Context(), requests("x", "z")); !errors.Is(err, core.ErrClosed) {
		t.Errorf("error %v, want %v", err, core.ErrClosed)
	}
}

// TestFailuresCostNoAllowance: a lookup that failed kept what senders had been granted before it in
// the same call. What was made before a failure is paid for.
func TestFailuresCostNoAllowance(t *testing.T) {
	now := time.Unix(1000, 0)
	store := &fakeStore{lost: "lost"}
	to := sink.New(store, sink.Options{SenderBurst: core.MaxBatch + 2, Now: func() time.Time { return now }})
	for range core.MaxBatch {
		if err := to.Resolve(t.Context(), requests("x", "a", "b", "lost")); !errors.Is(err, core.ErrDamaged) {
			t.Fatalf("error %v, want %v", err, core.ErrDamaged)
		}
	}
	var paths []string
	for i := range core.MaxBatch + 1 {
		paths = append(paths, fmt.Sprint(i))
	}
	store.parts = 1
	if err := to.Resolve(t.Context(), requests("x", paths...)); !errors.Is(err, core.ErrClosed) {
		t.Fatalf("error %v, want %v", err, core.ErrClosed)
	}
	store.parts = 0
	reqs := requests("x", "a", "b", "c")
	if err := to.Resolve(t.Context(), reqs); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, nil, receivers.ErrSenderLimit} {
		if !errors.Is(reqs[i].Err, want) {
			t.Errorf("series %d after %d were made: error %v, want %v", i, core.MaxBatch, reqs[i].Err, want)
		}
	}
}

// TestRefusedDescriptionsCostNoAllowance: a description that the store refused cost its sender one
// series.
func TestRefusedDescriptionsCostNoAllowance(t *testing.T) {
	now := time.Unix(1000, 0)
	to := sink.New(new(fakeStore), sink.Options{SenderBurst: 2, Now: func() time.Time { return now }})
	describe := func(paths ...string) []error {
		t.Helper()
		var ds []receivers.Description
		for _, p := range paths {
			ds = append(ds, receivers.Description{PathMetadata: core.PathMetadata{Path: p}, Sender: "x"})
		}
		errs, err := to.Describe(t.Context(), ds)
		if err != nil {
			t.Fatal(err)
		}
		return errs
	}
	for range 3 {
		if errs := describe("refused"); !errors.Is(errs[0], core.ErrInvalid) {
			t.Errorf("error %v, want %v", errs[0], core.ErrInvalid)
		}
	}
	for i, err := range describe("a", "b", "c") {
		if want := []error{nil, nil, receivers.ErrSenderLimit}[i]; !errors.Is(err, want) {
			t.Errorf("description %d: error %v, want %v", i, err, want)
		}
	}
}

// TestSinkPolicy: a policy may be replaced, and neither that nor a series that cannot be made costs
// a sender anything.
func TestSinkPolicy(t *testing.T) {
	policy := func(archive string) *sink.Policy {
		p, err := sink.NewPolicy([]sink.Rule{{Archives: []string{archive}}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	store := new(fakeStore)
	now := time.Unix(1000, 0)
	to := sink.New(store, sink.Options{SenderBurst: 2, Now: func() time.Time { return now }})
	var got []string
	for _, p := range []*sink.Policy{policy("RRA:MAX:0.5:5s:1h"), policy("RRA:MAX:0.5:1m:1h"), nil} {
		to.SetPolicy(p)
		reqs := requests("x", fmt.Sprint(len(got)))
		if err := to.Resolve(t.Context(), reqs); err != nil {
			t.Fatal(err)
		}
		if r := reqs[0]; r.Err == nil {
			got = append(got, r.Definition.Archives[0].String())
		} else {
			got = append(got, r.Err.Error())
		}
	}
	want := []string{"rule 1: archives: for step 10: ", "RRA:MAX:0.5:6:60", "RRA:AVERAGE:0.1:1:1200"}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("policy %d: %s, want %s", i, got[i], want[i])
		}
	}
	reqs := requests("x", "one more")
	if err := to.Resolve(t.Context(), reqs); err != nil || !errors.Is(reqs[0].Err, receivers.ErrSenderLimit) {
		t.Errorf("%v, %v: want the third series refused, whatever the policy", err, reqs[0].Err)
	}
	if st := to.Stats(); st.Made != 2 || st.Refused != [...]uint64{1, 0, 1} {
		t.Errorf("%+v", st)
	}
}
