package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A repeater makes changes with numbers, and describes their outcomes. Each may be made again.
type repeater struct {
	t     *testing.T
	refs  []core.Ref
	calls []func(ctx context.Context, s *core.Store) string
	first []string // their outcomes
}

// describe returns what callers act on.
func describe(parts ...any) string {
	var out strings.Builder
	for _, x := range parts {
		err, _ := x.(error)
		r, rejected := errors.AsType[*core.RejectedError](err)
		switch {
		case rejected:
			fmt.Fprintf(&out, " stored %d, late %d, refused %d:", r.Accepted, r.Late, r.Other)
			for _, x := range r.First {
				_, late := errors.AsType[*rra.TimeError](x.Err)
				fmt.Fprintf(&out, " %d late %v missing %v shape %v;", x.Index, late, errors.Is(x.Err, core.ErrNotFound), errors.Is(x.Err, core.ErrShape))
			}
		case err != nil:
			fmt.Fprintf(&out, " missing %v, exists %v", errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrExists))
			if errors.Is(err, core.ErrUnavailable) {
				fmt.Fprintf(&out, " unavailable: %v", err)
			}
		default:
			fmt.Fprintf(&out, " %v", x)
		}
	}
	return out.String()
}

// session is the session of a repeater.
const session = 77

func (r *repeater) make(s *core.Store, call func(ctx context.Context, s *core.Store) string) {
	r.calls = append(r.calls, call)
	r.first = append(r.first, r.call(s, len(r.calls)-1))
}

// call makes a change, perhaps again. Its numbers begin at 10 times its place.
func (r *repeater) call(s *core.Store, i int) string {
	return r.calls[i](core.WithNumber(r.t.Context(), core.Number{Session: session, N: uint64(10 * (i + 1))}), s)
}

// again makes all changes again, of s: all have the outcome that they had.
func (r *repeater) again(what string, s *core.Store) {
	r.t.Helper()
	before := described(r.t, s)
	for i := range r.calls {
		if got := r.call(s, i); got != r.first[i] {
			r.t.Errorf("%s: change %d again:\n%s, want\n%s", what, i, got, r.first[i])
		}
	}
	if after := described(r.t, s); !slices.Equal(after, before) {
		r.t.Errorf("%s: the changes were made twice:\n%q, before\n%q", what, after, before)
	}
}

// other is somebody else who stores a sample of the first series.
func (r *repeater) other(s *core.Store, at int64) {
	r.t.Helper()
	var b core.Batch
	b.Add(r.refs[0], rra.Seconds(at), rra.Int(7))
	mustClose(r.t, s.Append(r.t.Context(), &b))
}

// all makes changes of each kind, with parts that are refused, and another sender between them.
func (r *repeater) all(s *core.Store) {
	d := testDefinition(r.t)
	create := func(paths ...string) {
		r.make(s, func(ctx context.Context, s *core.Store) string {
			var specs []core.Spec
			for _, p := range paths {
				specs = append(specs, core.Spec{Path: p, Definition: d, Start: rra.Seconds(1000)})
			}
			out, err := s.CreateBatch(ctx, specs)
			parts := []any{err}
			for _, x := range out {
				parts = append(parts, x.Ref, x.Err)
			}
			return describe(parts...)
		})
	}
	create("a", "b", "c", "b")
	create("c", "d", "bad\x00")
	for _, p := range []string{"a", "b", "c", "x", "y", "z"} {
		ref, err := core.Create(r.t.Context(), s, core.Spec{Path: p, Definition: d, Start: rra.Seconds(1000)})
		if err != nil && !errors.Is(err, core.ErrExists) {
			r.t.Fatal(err)
		}
		r.refs = append(r.refs, ref)
	}
	refs := r.refs
	batch := func(list ...int64) { // series, time, values
		r.make(s, func(ctx context.Context, s *core.Store) string {
			var b core.Batch
			for i := 0; i < len(list); i += 3 {
				ref := core.Ref(12345)
				if list[i] >= 0 {
					ref = refs[list[i]]
				}
				b.Add(ref, rra.Seconds(list[i+1]), make([]rra.Value, list[i+2])...)
			}
			var ticket core.Ticket
			if err := s.Submit(ctx, &b, &ticket); err != nil {
				return describe(err)
			}
			return describe(ticket.Wait())
		})
	}
	r.other(s, 1050)
	batch(0, 1040, 1, 1, 1040, 1, -1, 1040, 1, 2, 1040, 2, 1, 1040, 1) // the first is late because of the other one
	batch(0, 1060, 1)
	batch(1, 1066, 1)
	batch(0, 1065, 1, 1, 1065, 1, 2, 1065, 1) // the one in the middle is late
	r.other(s, 1070)
	update := func(list ...int64) {
		r.make(s, func(ctx context.Context, s *core.Store) string {
			var b core.Batch
			for _, at := range list {
				b.Add(refs[0], rra.Seconds(at), rra.Int(1))
			}
			n, err := s.Update(ctx, refs[0], &b)
			return describe(n, err)
		})
	}
	update(1080, 1090, 1085, 1100)
	update(1110)
	simple := func(call func(ctx context.Context, s *core.Store) error) {
		r.make(s, func(ctx context.Context, s *core.Store) string { return describe(call(ctx, s)) })
	}
	simple(func(ctx context.Context, s *core.Store) error { return s.AddNote(ctx, "k", core.Note{Text: "n"}) })
	simple(func(ctx context.Context, s *core.Store) error { return s.Rename(ctx, "missing", "w") })
	simple(func(ctx context.Context, s *core.Store) error { return s.Rename(ctx, "x", "c") })
	simple(func(ctx context.Context, s *core.Store) error { return s.Rename(ctx, "x", "e") })
	simple(func(ctx context.Context, s *core.Store) error { return core.Drop(ctx, s, "y") })
	simple(func(ctx context.Context, s *core.Store) error { return core.Drop(ctx, s, "y") })
	r.make(s, func(ctx context.Context, s *core.Store) string {
		labels := []core.Label{{Name: "x", Value: "1"}}
		out, err := s.Relabel(ctx, []core.PathLabels{{Path: "a", Labels: labels}, {Path: "missing"}, {Path: "c", Labels: labels}})
		return describe(out[0], out[1], out[2], err)
	})
	c, err := s.Export(r.t.Context(), refs[2])
	mustClose(r.t, err)
	r.make(s, func(ctx context.Context, s *core.Store) string {
		var copies []core.Copy
		for _, p := range []string{"f", "a", "g"} {
			x := c
			x.Path = p
			copies = append(copies, x)
		}
		out, err := s.Import(ctx, copies, false)
		return describe(out[0].Ref, out[0].Err, out[1].Err, out[2].Ref, out[2].Err, err)
	})
	r.make(s, func(ctx context.Context, s *core.Store) string {
		ref, err := s.Alter(ctx, "z", func(c core.Copy) (core.Copy, error) { return c, nil })
		return describe(ref, err)
	})
	mustClose(r.t, func() error { _, err := s.Relabel(r.t.Context(), []core.PathLabels{{Path: "a"}}); return err }()) // somebody else
}

// A change that was made again by the next leader was made twice, or had another outcome.
func TestChangesMadeAgain(t *testing.T) {
	log := waltest.NewStream(1)
	open := func(dir string) *core.Store {
		s := mustOpen(t, dir, shared(core.Options{NoBackground: true}, log))
		t.Cleanup(func() { _ = s.Close() }) // it may be closed
		return s
	}
	dir := t.TempDir()
	a, b := open(t.TempDir()), open(dir)
	mustPromote(t, a)
	r := &repeater{t: t}
	r.all(a)
	r.again("the same leader", a)
	await(t, b, log)
	mustPromote(t, b)
	r.again("the next leader", b)
	mustClose(t, b.Checkpoint(t.Context()))
	var backup bytes.Buffer
	mustClose(t, b.BackupSince(t.Context(), &backup, nil))
	mustClose(t, b.Close())
	b = open(dir)
	mustPromote(t, b)
	r.again("a leader with its checkpoint", b)
	copied := t.TempDir() + "/copy"
	mustClose(t, core.RestoreReplica(&backup, copied))
	c := open(copied)
	mustPromote(t, c)
	r.again("a leader that was copied", c)
	mustClose(t, a.Demote(t.Context()))
	mustPromote(t, a)
	r.again("the first leader", a)
	for _, s := range []*core.Store{b, c} { // they do not know that they lead no more
		mustClose(t, s.Demote(t.Context()))
		await(t, s, log)
	}
	same(t, "the second leader", b, a)
	same(t, "the copy", c, a)
}

// Without a checkpoint, the outcomes come from the log alone.
func TestChangesMadeAgainAfterReplay(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	r := &repeater{t: t}
	r.all(s)
	r.again("the store", s)
	crashed := t.TempDir() + "/crashed"
	mustClose(t, os.CopyFS(crashed, os.DirFS(dir)))
	mustClose(t, s.Close())
	for _, background := range []bool{true, false} {
		s = mustOpen(t, crashed, core.Options{NoBackground: !background})
		if !background {
			r.again("the store, replayed", s)
		}
		mustClose(t, s.Close())
	}
}

// What is too old is not made again.
func TestForgottenNumbers(t *testing.T) {
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	defer func() { mustClose(t, s.Close()) }()
	note := func(session, n uint64) error {
		ctx := core.WithNumber(t.Context(), core.Number{Session: session, N: n})
		return s.AddNote(ctx, "k", core.Note{Text: fmt.Sprint(n)})
	}
	mustClose(t, note(1, 5000))
	mustClose(t, note(1, 5000-1023))
	for range 2 {
		if err := note(1, 5000-1024); !errors.Is(err, core.ErrForgotten) {
			t.Errorf("a number that is too old: %v", err)
		}
	}
	mustClose(t, note(2, 1))
	for i := range uint64(63) { // sessions that push the first one out
		mustClose(t, note(3+i, 1))
	}
	mustClose(t, note(1, 5001))
	notes, err := s.Notes(t.Context(), "k")
	mustClose(t, err)
	if last := notes["k"][len(notes["k"])-1]; last.Text != "5001" {
		t.Errorf("the newest note is %q", last.Text)
	}
	ref := mustCreateAt(t, s, "a", testDefinition(t), 1000)
	var b core.Batch
	for range 2000 { // more refused samples than are remembered
		b.Add(ref, rra.Seconds(900), rra.Int(1))
	}
	ctx := core.WithNumber(t.Context(), core.Number{Session: 9, N: 2})
	if r, ok := errors.AsType[*core.RejectedError](s.Append(ctx, &b)); !ok || r.Late != 2000 || len(r.First) != 16 {
		t.Errorf("2000 late samples: %v", r)
	}
	if err := s.Append(ctx, &b); !errors.Is(err, core.ErrForgotten) {
		t.Errorf("2000 late samples again: %v", err)
	}
}
