package sink_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// A sending is a receiver that keeps the references that it was once given.
type sending struct {
	*testing.T
	sink  *sink.Sink
	store *core.Store
	refs  map[string]core.Ref
	group string
	// define returns the definition of a new series; nil: receivers.LearnedDefinition.
	define func(step int64) *rra.Definition
}

func newSending(t *testing.T, o sink.Options) *sending {
	store := enginetest.Open(t)
	return &sending{T: t, sink: sink.New(store, o), store: store, refs: make(map[string]core.Ref)}
}

// batch returns samples of the value 1 at some seconds.
func (s *sending) batch(path string, at ...int64) *core.Batch {
	b := new(core.Batch)
	for _, sec := range at {
		b.Add(s.refs[path], rra.Seconds(sec), rra.Float(1))
	}
	return b
}

// resolve has the series of a path made, whose first sample comes at a second.
func (s *sending) resolve(path string, at int64) {
	s.Helper()
	define := s.define
	if define == nil {
		define = receivers.LearnedDefinition
	}
	reqs := []receivers.Request{{
		Identity: receivers.Identity{Path: path}, Time: rra.Seconds(at), Define: define, Learn: true, Group: s.group,
	}}
	if err := s.sink.Resolve(s.Context(), reqs); err != nil || reqs[0].Err != nil {
		s.Fatal(err, reqs[0].Err)
	}
	s.refs[path] = reqs[0].Ref
}

// send sends the value 1 at some seconds, all in one batch.
func (s *sending) send(path string, at ...int64) {
	s.Helper()
	if s.refs[path] == 0 {
		s.resolve(path, at[0])
	}
	s.submit(s.batch(path, at...))
}

// submit stores a batch, and reports whether samples of it were moved.
func (s *sending) submit(b *core.Batch) (moved bool) {
	s.Helper()
	p, err := s.sink.Submit(s.Context(), b)
	if err == nil {
		moved = p.(receivers.Moved).Moved()
		err = p.Wait()
	}
	if err != nil {
		s.Fatal(err)
	}
	return moved
}

// step returns the step of a series, and how many of its finest rows are known.
func (s *sending) step(path string) (step int64, known int) {
	s.Helper()
	ref, err := s.store.Lookup(path)
	if err != nil {
		s.Fatal(err)
	}
	c, err := s.store.Export(s.Context(), ref)
	if err != nil {
		s.Fatal(err)
	}
	for _, v := range c.Rows[0] {
		if !math.IsNaN(v) {
			known++
		}
	}
	return c.Definition.Step, known
}

// TestSilentSamples: a 0 that a receiver puts in before the samples of a counter, and a sample that
// is unknown, do not show the step of a series.
func TestSilentSamples(t *testing.T) {
	s := newSending(t, sink.Options{})
	s.define = func(step int64) *rra.Definition {
		d := receivers.LearnedDefinition(step)
		d.Sources[0].Kind, d.Sources[0].Min = rra.DDerive, 0
		return d
	}
	at := times(6, 60)
	for _, path := range []string{"new", "again", "ends"} {
		s.resolve(path, at[0]-20)
		for i, sec := range at {
			b := new(core.Batch)
			switch {
			case path == "new" && i == 0: // it has begun a moment ago
				b.Add(s.refs[path], rra.Seconds(sec-20), receivers.Zero)
			case path == "again" && i == 1: // it has begun again
				b.Add(s.refs[path], rra.Seconds(at[0])+1, receivers.Zero)
			case path == "ends" && i == 1:
				b.Add(s.refs[path], rra.Seconds(at[0]+7), rra.Unknown)
			}
			b.Add(s.refs[path], rra.Seconds(sec), rra.Float(float64(60*i)))
			s.submit(b)
		}
		if step, known := s.step(path); step != 60 || known < 4 {
			t.Errorf("%s: the step is %d, %d rows are known", path, step, known)
		}
	}
}

// TestMoved: the sink says that samples go to another series than their references say, until the
// reference is resolved again.
func TestMoved(t *testing.T) {
	s := newSending(t, sink.Options{})
	at := times(5, 60)
	for i, sec := range at {
		if i == 0 || i == 4 {
			s.resolve("a", sec)
		}
		if got, want := s.submit(s.batch("a", sec)), i > 0 && i < 4; got != want {
			t.Errorf("sample %d: moved %v, want %v", i, got, want)
		}
	}
	if step, known := s.step("a"); step != 60 || known != 5 {
		t.Errorf("the step is %d, %d rows are known", step, known)
	}
}

// TestRenames: a series that is renamed no longer takes what its sender goes on to send by the old
// path, as soon as the references are resolved again.
func TestRenames(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s := newSending(t, sink.Options{Now: func() time.Time { return now }})
	var r receivers.Renewal
	at := times(12, 60)
	s.resolve("a", at[0])
	var renewed []int
	for i, sec := range at {
		b := s.batch("a", sec)
		p, err := s.sink.Submit(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Due(p, now) {
			renewed = append(renewed, i)
			s.resolve("a", at[i+1])
		}
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		for i == 6 && s.sink.Renamed() == 0 { // it was asked for
			runtime.Gosched()
		}
		now = now.Add(time.Minute)
		if i == 5 {
			if err := s.store.Rename(t.Context(), "a", "b"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []int{1, 7, 9}; !slices.Equal(renewed, want) { // a step is learned, a rename, a step
		t.Errorf("references are resolved again with the samples %v, want %v", renewed, want)
	}
	_, old := s.step("a")
	_, moved := s.step("b")
	if old != 4 || moved != 8 {
		t.Errorf("the old path has %d known rows, the new one %d", old, moved)
	}
}

// A keeping store keeps the samples of one series, to store them by its path, and says that its
// reference is of no series: see package detour.
type keeping struct {
	*core.Store
	ref core.Ref
}

func (s *keeping) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	if b.Ref(0) != s.ref {
		return s.Store.Submit(ctx, b, t)
	}
	to, err := s.Lookup("a")
	if err != nil {
		return err
	}
	kept := new(core.Batch)
	b.Split(func(int, core.Ref) (*core.Batch, core.Ref) { return kept, to })
	t.Begin()
	err = s.Append(ctx, kept)
	if err == nil {
		err = &core.RejectedError{Accepted: b.Len(), First: []core.Rejection{{Err: core.ErrNotFound}}}
	}
	t.Complete(err)
	return nil
}

// TestKeptSamples: a sample that was kept and refused is late when it is handed over again. It took
// one from the samples that were refused otherwise: there were minus one.
func TestKeptSamples(t *testing.T) {
	s := newSending(t, sink.Options{})
	k := &keeping{Store: s.store}
	s.sink = sink.New(k, sink.Options{})
	at := times(1, 60)
	s.resolve("a", at[0])
	k.ref = s.refs["a"]
	if _, err := s.store.Alter(t.Context(), "a", func(c core.Copy) (core.Copy, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	p, err := s.sink.Submit(t.Context(), s.batch("a", at...))
	if err != nil {
		t.Fatal(err)
	}
	r, ok := errors.AsType[*core.RejectedError](p.Wait())
	if !ok || r.Late != 1 || r.Other != 0 {
		t.Errorf("%+v", r)
	}
}

// TestSilentYoung: series that end after a sample or two are not watched for ever. Each took half a
// kilobyte, and a million of them ended all learning.
func TestSilentYoung(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s := newSending(t, sink.Options{Now: func() time.Time { return now }})
	const n = 5000
	begin := func(job string) {
		var reqs []receivers.Request
		for i := range n {
			reqs = append(reqs, requests(job, fmt.Sprint(job, "/", i))...)
		}
		if err := s.sink.Resolve(t.Context(), reqs); err != nil {
			t.Fatal(err)
		}
	}
	begin("morning")
	s.resolve("stays", now.Unix())
	for range 8 {
		now = now.Add(time.Hour)
		s.send("stays", now.Unix())
	}
	begin("evening")
	begin("evening again")
	young, replaced := s.sink.Young()
	if young > 2*n+1 || replaced != 1 {
		t.Errorf("%d series are watched, and %d of them are silent; %d replaced ones are known", young, n, replaced)
	}
	now = now.Add(7 * time.Hour)
	begin("night")
	if _, replaced := s.sink.Young(); replaced != 0 {
		t.Errorf("%d replaced series are known half a day later", replaced)
	}
}

// times returns n times that are apart so many seconds.
func times(n int, apart int64) (at []int64) {
	for i := range int64(n) {
		at = append(at, 1_700_000_000+i*apart)
	}
	return at
}

// TestStepIsLearned: a sender that was slower than the step of the series that it got stored
// unknown rows only.
func TestStepIsLearned(t *testing.T) {
	for _, apart := range []int64{1, 7, 10, 15, 60, 300, 3600, 7200} {
		for _, together := range []bool{false, true} {
			s := newSending(t, sink.Options{})
			at := times(12, apart)
			if together {
				s.send("a", at...)
			}
			for i := 0; i < len(at) && !together; i++ {
				s.send("a", at[i])
			}
			want := min(apart, 3600)
			if step, known := s.step("a"); step != want || known < 9 {
				t.Errorf("samples %d s apart, together %v: the step is %d, %d rows are known", apart, together, step, known)
			}
		}
	}
}

// TestStepIsLearnedAnew: two samples that came by chance one behind the other say nothing of the
// others.
func TestStepIsLearnedAnew(t *testing.T) {
	s := newSending(t, sink.Options{})
	at := append([]int64{1_700_000_000 - 2}, times(10, 900)...)
	for _, sec := range at {
		s.send("a", sec)
	}
	if step, known := s.step("a"); step != 900 || known < 7 {
		t.Errorf("the step is %d, %d rows are known", step, known)
	}
}

// TestStepOfGroup: series of a group begin with the step that the group has shown.
func TestStepOfGroup(t *testing.T) {
	s := newSending(t, sink.Options{})
	s.group = "g"
	s.send("a", times(2, 60)...)
	s.send("b", times(1, 60)...)
	if step, _ := s.step("b"); step != 60 {
		t.Errorf("the step is %d, that of the group is 60", step)
	}
}

// TestPolicyNamesStep: a rule that names a step wins.
func TestPolicyNamesStep(t *testing.T) {
	p, err := sink.NewPolicy([]sink.Rule{{Path: "**", Step: 20}})
	if err != nil {
		t.Fatal(err)
	}
	s := newSending(t, sink.Options{Policy: p})
	s.send("a", times(10, 300)...)
	if step, known := s.step("a"); step != 20 || known != 1 { // the first
		t.Errorf("the step is %d, %d rows are known", step, known)
	}
	if got := fmt.Sprint(s.sink.Sparse(t.Context())); got != "[{a value 80 300}]" {
		t.Errorf("sparse series: %v", got)
	}
	if err := core.Drop(t.Context(), s.store, "a"); err != nil {
		t.Fatal(err)
	}
	if got := s.sink.Sparse(t.Context()); len(got) > 0 {
		t.Errorf("a series that was dropped: %v", got)
	}
}

// TestStepOfOthersStays: a series that somebody else has written to is left as it is.
func TestStepOfOthersStays(t *testing.T) {
	s := newSending(t, sink.Options{})
	at := times(3, 60)
	s.send("a", at[0])
	var b core.Batch
	b.Add(s.refs["a"], rra.Seconds(at[0]+5), rra.Float(7))
	if err := s.store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	s.send("a", at[1])
	s.send("a", at[2])
	if step, _ := s.step("a"); step != 10 {
		t.Errorf("the step is %d", step)
	}
}

// TestStepIsLearnedBesideOthers: senders that share a series send at once, while its first sample is
// on its way. The step is learned once, and no sample finds a series that has gone.
func TestStepIsLearnedBesideOthers(t *testing.T) {
	s := newSending(t, sink.Options{})
	const senders = 3
	for series := range 20 {
		path := fmt.Sprint(series)
		s.resolve(path, 1_700_000_060)
		first, err := s.sink.Submit(t.Context(), s.batch(path, 1_700_000_060))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var under atomic.Int64
		for k := range int64(senders) {
			all.Go(func() {
				b := s.batch(path, 1_700_000_120+60*k, 1_700_000_600+60*k)
				under.Add(1)
				p, err := s.sink.Submit(t.Context(), b)
				if err == nil {
					err = p.Wait()
				}
				if r, ok := errors.AsType[*core.RejectedError](err); ok && r.Other > 0 || err != nil && !ok {
					t.Errorf("%s: %v", path, err) // that samples are late is expected
				}
			})
		}
		for under.Load() < senders {
			runtime.Gosched()
		}
		if err := first.Wait(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if step, _ := s.step(path); step == 10 {
			t.Errorf("%s: the step is the guess", path)
		}
	}
}

// TestSamplesOfOtherNodesAreBetween: samples of a series go round over three nodes. Each of them
// sees gaps, and the series has none: it is not said that its samples come too far apart.
func TestSamplesOfOtherNodesAreBetween(t *testing.T) {
	a := newSending(t, sink.Options{})
	all := []*sending{a}
	for range 2 {
		all = append(all, &sending{T: t, sink: sink.New(a.store, sink.Options{}), store: a.store, refs: make(map[string]core.Ref)})
	}
	for i, at := range times(30, 120) {
		all[i%3].send("a", at)
	}
	if step, known := a.step("a"); step != 120 || known < 28 {
		t.Errorf("the step is %d, and %d rows are known", step, known)
	}
	for i, s := range all {
		if got := s.sink.Sparse(t.Context()); len(got) > 0 {
			t.Errorf("node %d: %v", i, got)
		}
	}
}
