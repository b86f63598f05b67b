package receivers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

func TestAppendComponent(t *testing.T) {
	for _, test := range []struct {
		parts []string
		want  string
	}{
		{[]string{"web1"}, "web1"},
		{[]string{"tail", "-", "a-b.c"}, "tail-a-b.c"},
		{[]string{"a/b\x00\x1f\x20\x7f"}, "a_b__ _"},
		{[]string{"µ\xffx\xc3"}, "µ\uFFFDx\uFFFD"},
		{[]string{"a\u0085b\u009b31m\u2028\u2029\u00a0"}, "a_b_31m__\u00a0"},
		{[]string{"\uFFFD"}, "\uFFFD"},
		{[]string{"."}, "_"},
		{[]string{".", "."}, "__"},
		{[]string{"..."}, "..."},
		{[]string{".", "-", "."}, ".-."},
		{nil, ""},
	} {
		if got := string(receivers.AppendComponent([]byte(".."), test.parts...)); got != ".."+test.want {
			t.Errorf("%q is %q, want %q", test.parts, got, ".."+test.want)
		}
	}
}

func define(step int64) *rra.Definition {
	if step == 0 {
		step = 10
	}
	return &rra.Definition{
		Step:     step,
		Sources:  []rra.DataSource{{Name: "value", Heartbeat: 20, Min: math.NaN(), Max: math.NaN()}},
		Archives: receivers.StandardArchives(step),
	}
}

func TestPolicy(t *testing.T) {
	p, err := receivers.NewPolicy([]receivers.Rule{
		{Path: "collectd/*/cpu-?/**", Heartbeat: 600},
		{Path: "collectd/db*", Step: 99},
		{Labels: map[string]string{"host": "db*", "type": "df"}, Step: 60, Archives: []string{"RRA:AVERAGE:0.5:5m:1h", "RRA:MAX:0.5:1:10"}},
		{Path: "**", Labels: map[string]string{"plugin_instance": ""}, Step: 5},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	labels := func(host, typ, instance string) []core.Label {
		return []core.Label{{Name: "host", Value: host}, {Name: "type", Value: typ}, {Name: "plugin_instance", Value: instance}}
	}
	for _, test := range []struct {
		path      string
		labels    []core.Label
		rule      int
		step      int64
		heartbeat int64
		archives  int
	}{
		{"collectd/web1/cpu-0/cpu-idle", nil, 0, 10, 600, 15},
		{"collectd/web1/cpu-0/a/b", nil, 0, 10, 600, 15},
		{"collectd/web1/cpu-10/cpu-idle", labels("", "", "x"), -1, 10, 20, 15},
		{"collectd/a/b/cpu-0/cpu-idle", labels("", "", "x"), -1, 10, 20, 15},
		{"xcollectd/web1/cpu-0/cpu-idle", labels("", "", "x"), -1, 10, 20, 15},
		{"collectd/db1/df/df-root", labels("db1", "df", "x"), 2, 60, 20, 2},
		{"anything", labels("db/1", "df", "x"), 2, 60, 20, 2},
		{"anything", labels("web", "df", ""), 3, 5, 20, 15},
	} {
		id := receivers.Identity{Path: test.path, Labels: test.labels}
		if got := p.Match(id); got != test.rule {
			t.Errorf("%s: rule %d, want %d", test.path, got, test.rule)
		}
		d, err := p.Define(id, define)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		if d.Step != test.step || d.Sources[0].Heartbeat != test.heartbeat || len(d.Archives) != test.archives {
			t.Errorf("%s: step %d, heartbeat %d, %d archives, want %d, %d, %d",
				test.path, d.Step, d.Sources[0].Heartbeat, len(d.Archives), test.step, test.heartbeat, test.archives)
		}
	}
	for want, r := range map[string]receivers.Rule{
		"rule 2: step: -1 is not in":       {Step: -1},
		"rule 2: heartbeat: ":              {Heartbeat: -1},
		"rule 2: expire: ":                 {Expire: 1 << 40},
		"rule 2: labels: a label has ":     {Labels: map[string]string{"": "x"}},
		"rule 2: path: is not UTF-8":       {Path: "a\xff"},
		"rule 2: archives: ":               {Archives: []string{"RRA:FOO:0.5:1:1"}},
		`"DS:a:GAUGE:1:U:U" is no archive`: {Archives: []string{"DS:a:GAUGE:1:U:U"}},
	} {
		if _, err := receivers.NewPolicy([]receivers.Rule{{}, r}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", r, err, want)
		}
	}
}

// fakeStore is a catalogue in memory.
type fakeStore struct {
	series  []core.Series
	specs   []core.Spec
	batches [][]string // paths of each CreateBatch
	most    int
	fail    error
}

func (s *fakeStore) Lookup(path string) (core.Ref, error) {
	for _, x := range s.series {
		if x.Path == path {
			return x.Ref, nil
		}
	}
	return 0, fmt.Errorf("%q: %w", path, core.ErrNotFound)
}

func (s *fakeStore) Series(ref core.Ref) (core.Series, error) { return s.series[ref-1], nil }

func (s *fakeStore) CreateBatch(_ context.Context, specs []core.Spec) ([]core.Created, error) {
	if s.fail != nil {
		return nil, s.fail
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

func (s *fakeStore) AddNote(context.Context, string, core.Note) error { return nil }

func (s *fakeStore) Relabel(_ context.Context, ls []core.PathLabels) ([]error, error) {
	return make([]error, len(ls)), nil
}

func (s *fakeStore) SetMetadata(_ context.Context, ms []core.PathMetadata) ([]error, error) {
	return make([]error, len(ms)), nil
}

func (s *fakeStore) Metadata(string) (core.Metadata, error) { return core.Metadata{}, nil }

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

func TestStoreSinkResolve(t *testing.T) {
	store := new(fakeStore)
	sink := receivers.NewStoreSink(store, receivers.StoreOptions{})
	reqs := requests("h", "a", "b", "a", "raced")
	if err := sink.Resolve(t.Context(), reqs); err != nil {
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
	if got := store.specs[0].Start; got != rra.Seconds(1_699_999_999) {
		t.Errorf("start %v, want one second before the whole second of the first sample", got.Std())
	}
	if diff := cmp.Diff([]core.Label{{Name: "host", Value: "h"}}, store.specs[0].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	reqs = requests("h", "b", "a")
	reqs[0].Define = func(int64) *rra.Definition { t.Error("a series that is there was defined"); return nil }
	if err := sink.Resolve(t.Context(), reqs); err != nil || reqs[0].Ref != 2 || reqs[1].Ref != 1 || len(store.batches) != 1 {
		t.Errorf("%v, %v: made again", err, reqs)
	}
}

func TestStoreSinkLimits(t *testing.T) {
	now := time.Unix(1000, 0)
	store := &fakeStore{most: 9}
	sink := receivers.NewStoreSink(store, receivers.StoreOptions{SenderBurst: 3, SenderRate: 2, Now: func() time.Time { return now }})
	resolve := func(sender string, paths ...string) string {
		t.Helper()
		reqs := requests(sender, paths...)
		if err := sink.Resolve(t.Context(), reqs); err != nil {
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
	st := sink.Stats()
	want := receivers.SinkStats{Made: 9, Senders: 2}
	want.Refused[receivers.RefusedSender], want.Refused[receivers.RefusedSeries] = 5, 2
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	store.fail, store.most = core.ErrClosed, 0
	if err := sink.Resolve(t.Context(), requests("x", "z")); !errors.Is(err, core.ErrClosed) {
		t.Errorf("error %v, want %v", err, core.ErrClosed)
	}
}

// TestStoreSinkPolicy: a policy may be replaced, and neither that nor a series that cannot be made costs a sender anything.
func TestStoreSinkPolicy(t *testing.T) {
	policy := func(archive string) *receivers.Policy {
		p, err := receivers.NewPolicy([]receivers.Rule{{Archives: []string{archive}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	store := new(fakeStore)
	now := time.Unix(1000, 0)
	sink := receivers.NewStoreSink(store, receivers.StoreOptions{SenderBurst: 2, Now: func() time.Time { return now }})
	var got []string
	for _, p := range []*receivers.Policy{policy("RRA:MAX:0.5:5s:1h"), policy("RRA:MAX:0.5:1m:1h"), nil} {
		sink.SetPolicy(p)
		reqs := requests("x", fmt.Sprint(len(got)))
		if err := sink.Resolve(t.Context(), reqs); err != nil {
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
	if err := sink.Resolve(t.Context(), reqs); err != nil || !errors.Is(reqs[0].Err, receivers.ErrSenderLimit) {
		t.Errorf("%v, %v: want the third series refused, whatever the policy", err, reqs[0].Err)
	}
	if st := sink.Stats(); st.Made != 2 || st.Refused != [...]uint64{1, 0, 1} {
		t.Errorf("%+v", st)
	}
}

// TestQueueOutcomes: what the sink says of batches becomes counters.
func TestQueueOutcomes(t *testing.T) {
	sink := &scripted{outcomes: []error{
		nil,
		&core.RejectedError{Accepted: 1, Late: 2, Other: 1, First: []core.Rejection{{Err: core.ErrNotFound}}},
		errors.New("disk on fire"),
	}}
	var c receivers.Counters
	q := receivers.NewQueue(sink, &c, receivers.Config{InFlight: 4})
	for i := range 3 {
		for range 4 {
			q.Add(1, rra.Seconds(int64(i)), []rra.Value{rra.Int(1), rra.Int(2)})
		}
		q.Flush()
	}
	q.Note("host", core.Note{Text: "hello"})
	q.Stop()
	if !q.Stale() || q.Stale() {
		t.Error("a reference was refused: not said, or said twice")
	}
	st := c.Stats()
	want := receivers.Stats{Samples: 12, Values: 24}
	want.Dropped[receivers.Late], want.Dropped[receivers.State], want.Dropped[receivers.Failed] = 2, 1, 4
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sink.notes != 1 {
		t.Errorf("%d notes, want 1", sink.notes)
	}
}

// scripted is a sink whose batches have given outcomes.
type scripted struct {
	receivertest.Recorder
	outcomes []error
	notes    int
}

func (s *scripted) Submit(context.Context, *core.Batch) (receivers.Pending, error) {
	err := s.outcomes[0]
	s.outcomes = s.outcomes[1:]
	return outcome{err}, nil
}

func (s *scripted) Note(context.Context, string, core.Note) error { s.notes++; return nil }

func (s *scripted) Describe(_ context.Context, ds []receivers.Description) ([]error, error) {
	return make([]error, len(ds)), nil
}

func (s *scripted) Metadata(context.Context, string) (core.Metadata, error) {
	return core.Metadata{}, nil
}

type outcome struct{ err error }

func (o outcome) Wait() error { return o.err }
