package core_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// shared returns o for a store that shares a simulated stream with others.
func shared(o core.Options, log *waltest.Stream) core.Options {
	o = onStream(o, log)
	o.Follow = func(wal.Pos) (core.Source, error) { return log.Reader(), nil }
	return o
}

// patience bounds what a test waits for. It is reached only by a test that fails.
const patience = time.Minute

// await waits until a follower has everything that is in the log.
func await(t testing.TB, s *core.Store, log *waltest.Stream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.WaitFor(ctx, log.Reader().Last()); err != nil {
		t.Fatal(err)
	}
}

// awaitRole waits until a store has a role, and returns its standing.
func awaitRole(t testing.TB, s *core.Store, role core.Role) core.Standing {
	t.Helper()
	end := time.After(patience)
	for {
		st, changed := s.Standing()
		if st.Role == role {
			return st
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("the store is %v (%v), want %v", st.Role, st.Err, role)
		}
	}
}

func mustPromote(t testing.TB, s *core.Store) {
	t.Helper()
	mustClose(t, s.Promote(t.Context()))
}

// described returns everything that a store says beside its samples.
func described(t testing.TB, s *core.Store) []string {
	t.Helper()
	ctx := t.Context()
	var out []string
	for x, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("series %d %q %v", x.Ref, x.Path, x.Labels))
		ref, err := s.Lookup(x.Path)
		if err != nil || ref != x.Ref {
			t.Fatalf("%q is series %d, its name says %d, %v", x.Path, x.Ref, ref, err)
		}
	}
	for x, err := range s.ListMetadata(ctx, core.MetadataQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("metadata %+v", x))
	}
	notes, err := s.Notes(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range slices.Sorted(maps.Keys(notes)) {
		out = append(out, fmt.Sprintf("notes of %q: %+v", k, notes[k]))
	}
	return out
}

// same fails the test unless two stores hold the same.
func same(t testing.TB, what string, got, want *core.Store) {
	t.Helper()
	sameDigest(t, what, mustDigest(t, got), mustDigest(t, want))
	g, w := described(t, got), described(t, want)
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			t.Fatalf("%s: it lacks %s", what, w[i])
		case i >= len(w) || g[i] != w[i]:
			t.Fatalf("%s: it has %s, want %s", what, g[i], append(w, "nothing")[i])
		}
	}
	if enginetest.Check(t, got); t.Failed() {
		t.FailNow()
	}
}

// TestFollowerLeaderFollower lets three stores follow one log, and two of them lead in turn.
func TestFollowerLeaderFollower(t *testing.T) {
	log := waltest.NewStream(1)
	var stores []*core.Store
	for range 3 {
		s := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
		t.Cleanup(func() { mustClose(t, s.Close()) })
		if s.Role() != core.Follower {
			t.Fatalf("a store that was opened to follow is %v", s.Role())
		}
		stores = append(stores, s)
	}
	a, b := stores[0], stores[1]
	mustPromote(t, a)
	f := newFeeder(t, a, 300)
	f.mustFeed(20)
	for _, s := range stores {
		await(t, s, log)
		same(t, "a follower", s, a)
	}
	if err := f.reopened(b).feed(1); !errors.Is(err, core.ErrNotLeader) || !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("append to a follower: %v, want ErrNotLeader", err)
	}
	mustPromote(t, b) // a does not know
	if err := f.feed(1); !errors.Is(err, core.ErrNotLeader) {
		t.Errorf("append to a leader that was replaced: %v, want ErrNotLeader", err)
	}
	if st := awaitRole(t, a, core.Follower); st.Err != nil {
		t.Errorf("a leader that was replaced: %+v", st)
	}
	f = f.reopened(b)
	f.mustFeed(20)
	if err := b.Demote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.feed(1); !errors.Is(err, core.ErrNotLeader) {
		t.Errorf("append to a store that stopped leading: %v, want ErrNotLeader", err)
	}
	mustPromote(t, a)
	f = f.reopened(a)
	f.mustFeed(20)
	for _, s := range stores {
		await(t, s, log)
		same(t, "after two changes", s, a)
		f.reopened(s).verify()
	}
}

// TestFollowerRefusesWrites makes every call that writes of a follower: each is refused, and the
// store is as before.
func TestFollowerRefusesWrites(t *testing.T) {
	log := waltest.NewStream(1)
	a := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
	b := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
	mustPromote(t, a)
	f := newFeeder(t, a, 3)
	f.mustFeed(2)
	await(t, b, log)
	ctx := t.Context()
	var batch core.Batch
	batch.Add(f.refs[0], f.at()+rra.Seconds(10), rra.Float(1))
	spec := core.Spec{Path: "new", Definition: testDefinition(t)}
	for name, call := range map[string]func() error{
		"append": func() error { return b.Append(ctx, &batch) },
		"submit": func() error { return b.Submit(ctx, &batch, new(core.Ticket)) },
		"update": func() error { _, err := b.Update(ctx, f.refs[0], &batch); return err },
		"flush":  func() error { return b.Flush(ctx, f.refs) },
		"create": func() error { _, err := b.CreateBatch(ctx, []core.Spec{spec}); return err },
		"drop":   func() error { return core.Drop(ctx, b, "host/0") },
		"silent": func() error {
			_, err := b.Drop(ctx, []core.Dropping{{Ref: f.refs[0], Before: core.MaxTime}})
			return err
		},
		"rename": func() error { return b.Rename(ctx, "host/0", "host/9") },
		"relabel": func() error {
			_, err := b.Relabel(ctx, []core.PathLabels{{Path: "host/0", Labels: []core.Label{{Name: "a", Value: "b"}}}})
			return err
		},
		"alter": func() error {
			_, err := b.Alter(ctx, "host/0", func(c core.Copy) (core.Copy, error) { return c, nil })
			return err
		},
		"import": func() error {
			c, err := b.Export(ctx, f.refs[0])
			if err == nil {
				_, err = b.Import(ctx, []core.Copy{c}, true)
			}
			return err
		},
		"metadata": func() error {
			_, err := b.SetMetadata(ctx, []core.PathMetadata{{Path: "host/0", Metadata: core.Metadata{Text: "x"}}})
			return err
		},
		"note":     func() error { return b.AddNote(ctx, "host/0", core.Note{Text: "x"}) },
		"truncate": func() error { return b.Truncate(1) },
	} {
		if err := call(); !errors.Is(err, core.ErrNotLeader) {
			t.Errorf("%s: got %v, want ErrNotLeader", name, err)
		}
	}
	same(t, "after refused writes", b, a)
	mustPromote(t, b)
	mustAppend(t, b, &batch)
	mustClose(t, a.Close())
	mustClose(t, b.Close())
}

// TestSealedLeaderDropsWhatIsOnItsWay replaces a leader while its writes are on their way to the
// log: each of them fails, none is applied anywhere, and the leader follows.
func TestSealedLeaderDropsWhatIsOnItsWay(t *testing.T) {
	log := waltest.NewStream(1)
	a := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
	b := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
	mustPromote(t, a)
	f := newFeeder(t, a, 20)
	f.mustFeed(3)
	await(t, b, log)
	before := mustDigest(t, b)
	log.Hold()
	batches, tickets := make([]core.Batch, 10), make([]core.Ticket, 10)
	for i := range batches {
		for _, ref := range f.refs {
			batches[i].Add(ref, f.at()+rra.Seconds(int64(10*i+10)), rra.Float(1e6))
		}
		mustClose(t, a.Submit(t.Context(), &batches[i], &tickets[i]))
	}
	calls := map[string]func() error{
		"create": func() error {
			_, err := a.Create(t.Context(), core.Spec{Path: "new", Definition: testDefinition(t)})
			return err
		},
		"drop":   func() error { return core.Drop(t.Context(), a, "host/0") },
		"rename": func() error { return a.Rename(t.Context(), "host/1", "host/x") },
		"metadata": func() error {
			_, err := a.SetMetadata(t.Context(), []core.PathMetadata{{Path: "host/2", Metadata: core.Metadata{Text: "x"}}})
			return err
		},
	}
	told := make(chan error, len(calls))
	for name, call := range calls {
		queued := a.Queued()
		go func() { told <- fmt.Errorf("%s: %w", name, call()) }()
		for a.Queued() == queued {
			time.Sleep(time.Millisecond)
		}
	}
	mustPromote(t, b)
	log.Release()
	for i := range tickets {
		if err := tickets[i].Wait(); !errors.Is(err, core.ErrNotLeader) || !errors.Is(err, wal.ErrSealed) {
			t.Errorf("batch %d: got %v, want ErrNotLeader", i, err)
		}
	}
	for range calls {
		if err := <-told; !errors.Is(err, core.ErrNotLeader) {
			t.Errorf("got %v, want ErrNotLeader", err)
		}
	}
	sameDigest(t, "the new leader", mustDigest(t, b), before)
	f = f.reopened(b)
	f.mustFeed(5)
	await(t, a, log)
	same(t, "the leader that was replaced", a, b)
	mustPromote(t, a)
	mustClose(t, b.Demote(t.Context())) // it writes nothing, so that the log did not report it
	f = f.reopened(a)
	f.mustFeed(5) // coded against what b logged
	mustCreate(t, a, "new", testDefinition(t))
	mustClose(t, a.Rename(t.Context(), "host/1", "host/x"))
	mustClose(t, core.Drop(t.Context(), a, "host/0"))
	await(t, b, log)
	same(t, "after it leads again", b, a)
	mustClose(t, a.Close())
	mustClose(t, b.Close())
}

// TestLeaderAgainCodesAgainstWhatTheOtherLogged lets two stores lead in turn without any failure:
// the values of a store that leads again are coded against those that the other one has logged.
func TestLeaderAgainCodesAgainstWhatTheOtherLogged(t *testing.T) {
	log := waltest.NewStream(1)
	a := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
	b := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
	mustPromote(t, a)
	ref := mustCreate(t, a, "a", testDefinition(t))
	for i := range 6 {
		for j := range 3 {
			var batch core.Batch
			at := programStart + int64(30*i+10*j+10)
			batch.Add(ref, rra.Seconds(at), rra.Float(math.Sqrt(float64(at))))
			mustAppend(t, a, &batch)
		}
		await(t, b, log)
		same(t, "the follower", b, a)
		mustClose(t, a.Demote(t.Context()))
		mustPromote(t, b)
		a, b = b, a
	}
	mustClose(t, a.Close())
	mustClose(t, b.Close())
}
