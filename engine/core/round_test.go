package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal/waltest"
)

// TestDigestWhileWritten takes digests of three stores that are written without pause, and write
// checkpoints, or none, or unload what is idle: all three are equal at the same position.
func TestDigestWhileWritten(t *testing.T) {
	log := waltest.NewStream(1)
	var stores []*core.Store
	for range 3 {
		s := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, log))
		t.Cleanup(func() { mustClose(t, s.Close()) })
		stores = append(stores, s)
	}
	lead := stores[0]
	mustPromote(t, lead)
	f := newFeeder(t, lead, 700) // several groups, and more names than one step has
	f.mustFeed(40)
	md := []core.PathMetadata{{Path: "host/0", Metadata: core.Metadata{Text: "x"}}, {Path: "none", Metadata: core.Metadata{Text: "y"}}}
	if _, err := lead.SetMetadata(t.Context(), md); err != nil {
		t.Fatal(err)
	}
	mustClose(t, lead.Checkpoint(t.Context()))
	f.mustFeed(10)
	await(t, stores[2], log)
	mustClose(t, stores[2].Checkpoint(t.Context()))
	if stores[2].UnloadIdle() == 0 {
		t.Error("nothing was idle")
	}

	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	writing.Go(func() {
		for ctx.Err() == nil {
			if err := f.feed(1); err != nil {
				t.Error(err)
				return
			}
		}
	})
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := stores[1+i%2].Checkpoint(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	last := core.Digested{}
	for range 5 {
		want, err := lead.TakeDigest(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if want.At <= last.At || want.Sum == last.Sum {
			t.Errorf("a digest %+v after %+v", want, last)
		}
		last = want
		for i, s := range stores {
			got, err := s.AwaitDigest(t.Context(), want.At)
			if err != nil || got != want.Sum {
				t.Errorf("store %d: digest %x at %d, the leader has %x: %v", i, got, want.At, want.Sum, err)
			}
			if i > 0 && s.LastDigest() != want {
				t.Errorf("store %d says %+v, want %+v", i, s.LastDigest(), want)
			}
		}
		mustClose(t, lead.WaitFor(t.Context(), want.At+1)) // something is written
	}
	stop()
	writing.Wait()
	if n := lead.Readers(); n != 0 {
		t.Errorf("%d transactions are left open", n)
	}
}

// TestDigestOfRoundTellsWhatDiffers changes one thing of a follower: its digest is another one.
func TestDigestOfRoundTellsWhatDiffers(t *testing.T) {
	label := []core.Label{{Name: "a", Value: "b"}}
	md := core.Metadata{Text: "x"}
	for name, edit := range map[string]func(f *feeder, s *core.Store) error{
		"nothing": func(*feeder, *core.Store) error { return nil },
		"a state": func(f *feeder, s *core.Store) error { return s.EditState(f.refs[300], func(w []uint64) { w[2] ^= 1 }) },
		"a label": func(f *feeder, s *core.Store) error {
			_, err := s.Relabel(t.Context(), []core.PathLabels{{Path: "host/299", Labels: label}})
			return err
		},
		"metadata": func(f *feeder, s *core.Store) error {
			_, err := s.SetMetadata(t.Context(), []core.PathMetadata{{Path: "host/299", Metadata: md}})
			return err
		},
		"a name": func(f *feeder, s *core.Store) error { return s.Rename(t.Context(), "host/299", "host/x") },
	} {
		log, other := waltest.NewStream(1), waltest.NewStream(2)
		var sums []uint64
		for i, l := range []*waltest.Stream{log, other} {
			s := mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, l))
			mustPromote(t, s)
			f := newFeeder(t, s, 600)
			f.mustFeed(30)
			if i == 1 {
				mustClose(t, edit(f, s))
			}
			d, err := s.TakeDigest(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			sums = append(sums, d.Sum)
			mustClose(t, s.Close())
		}
		if (sums[0] == sums[1]) != (name == "nothing") {
			t.Errorf("%s differs: digests %x", name, sums)
		}
	}
}

// TestDigestOfManyValues has a series with a long archive, and classes of one series each.
func TestDigestOfManyValues(t *testing.T) {
	log := waltest.NewStream(1)
	o := shared(core.Options{NoBackground: true}, log)
	a, b := mustOpen(t, t.TempDir(), o), mustOpen(t, t.TempDir(), o)
	mustPromote(t, a)
	r := rand.New(rand.NewPCG(1, 1))
	large := mustCreate(t, a, "large", testDefinition(t, "DS:x:GAUGE:100:U:U", "DS:y:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:1500000", "RRA:MAX:0.5:7:100"))
	refs := []core.Ref{large}
	for i := range 150 {
		refs = append(refs, mustCreate(t, a, fmt.Sprintf("small/%d", i), testDefinition(t, "DS:x:GAUGE:100:U:U", "DS:y:GAUGE:100:U:U", fmt.Sprintf("RRA:AVERAGE:0.5:1:%d", 10+i))))
	}
	for i := range 60 {
		var batch core.Batch
		for _, ref := range refs {
			batch.Add(ref, rra.Seconds(programStart+10+int64(i*10)), rra.Float(r.Float64()), rra.Float(r.Float64()))
		}
		mustAppend(t, a, &batch)
		if i == 30 {
			mustClose(t, a.Checkpoint(t.Context()))
		}
	}
	for range 2 {
		want, err := a.TakeDigest(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.AwaitDigest(t.Context(), want.At); err != nil || got != want.Sum {
			t.Errorf("digest %x, want %x: %v", got, want.Sum, err)
		}
		mustClose(t, b.EditState(large, func(w []uint64) { w[2] ^= 1 }))
		again, err := a.TakeDigest(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.AwaitDigest(t.Context(), again.At); err != nil || got == again.Sum || again.Sum != want.Sum {
			t.Errorf("digest %x, the leader has %x and %x: %v", got, want.Sum, again.Sum, err)
		}
		mustClose(t, b.EditState(large, func(w []uint64) { w[2] ^= 1 }))
	}
	mustClose(t, a.Close())
	mustClose(t, b.Close())
}

// TestDigestOfDamage meets a damaged state in the database: there is no digest.
func TestDigestOfDamage(t *testing.T) {
	log := waltest.NewStream(1)
	o := shared(core.Options{NoBackground: true}, log)
	a, b := mustOpen(t, t.TempDir(), o), mustOpen(t, t.TempDir(), o)
	mustPromote(t, a)
	newFeeder(t, a, 300).mustFeed(30)
	await(t, b, log)
	mustClose(t, b.Checkpoint(t.Context()))
	for try := 0; b.UnloadIdle() == 0; try++ { // the first time takes note of what was used
		if try == 2 {
			t.Fatal("nothing was idle")
		}
	}
	mustClose(t, b.EditStored())
	d, err := a.TakeDigest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.AwaitDigest(t.Context(), d.At); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("digest of a damaged store: %v", err)
	}
	mustClose(t, a.Close())
	mustClose(t, b.Close())
}

// TestDigestOfRoundThatBeganBefore lets a store join in the midst of a round, by being opened or
// promoted: it has no digest of that round, and one of the next.
func TestDigestOfRoundThatBeganBefore(t *testing.T) {
	log := waltest.NewStream(1)
	o := shared(core.Options{NoBackground: true}, log)
	a, b := mustOpen(t, t.TempDir(), o), mustOpen(t, t.TempDir(), o)
	mustPromote(t, a)
	newFeeder(t, a, 300).mustFeed(3)
	await(t, b, log)
	first, err := a.TakeDigest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, b.Checkpoint(t.Context()))
	dir := t.TempDir()
	if _, err := b.AwaitDigest(t.Context(), first.At-1); err == nil || !strings.Contains(err.Error(), "took none") {
		t.Errorf("a digest where no round ended: %v", err)
	}
	mustPromote(t, b)
	if _, err := a.TakeDigest(t.Context(), 1); !errors.Is(err, core.ErrNotLeader) {
		t.Errorf("digest of a store that leads no more: %v", err)
	}
	if _, err := b.TakeDigest(t.Context(), 0); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a digest that takes no time: %v", err)
	}
	second, err := b.TakeDigest(t.Context(), 1)
	if err != nil || second.Sum != first.Sum || second.At <= first.At {
		t.Errorf("digest %+v of the same as %+v: %v", second, first, err)
	}
	c := mustOpen(t, dir, o)
	await(t, c, log)
	if got, err := c.AwaitDigest(t.Context(), second.At); err != nil || got != second.Sum {
		t.Errorf("digest %x of a store that follows later, want %x: %v", got, second.Sum, err)
	}
	alone := mustOpen(t, t.TempDir(), core.Options{})
	if _, err := alone.TakeDigest(t.Context(), 1); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("digest of a store with a log of its own: %v", err)
	}
	for _, s := range []*core.Store{a, b, c, alone} {
		mustClose(t, s.Close())
	}
}

// TestDigestOfStoreThatIsAhead opens a store whose groups hold what came behind the record of a
// digest, for it was killed in a checkpoint: it has no digest there, and one at the next record.
func TestDigestOfStoreThatIsAhead(t *testing.T) {
	log := waltest.NewStream(1)
	o := shared(core.Options{NoBackground: true}, log)
	dir := t.TempDir()
	a, b := mustOpen(t, t.TempDir(), o), mustOpen(t, dir, o)
	mustPromote(t, a)
	f := newFeeder(t, a, 300)
	f.mustFeed(3)
	await(t, b, log)
	mustClose(t, b.Checkpoint(t.Context()))
	first, err := a.TakeDigest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	f.mustFeed(3)
	await(t, b, log)
	killed := t.TempDir()
	b.SetHook(func(at string) {
		if at == "checkpoint-groups" {
			copyFile(t, filepath.Join(dir, "rondo.bolt"), filepath.Join(killed, "rondo.bolt"))
		}
	})
	mustClose(t, b.Checkpoint(t.Context()))
	c := mustOpen(t, killed, o)
	await(t, c, log)
	if _, err := c.AwaitDigest(t.Context(), first.At); err == nil || !strings.Contains(err.Error(), "ahead") {
		t.Errorf("a digest of what came later: %v", err)
	}
	second, err := a.TakeDigest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*core.Store{b, c} {
		if got, err := s.AwaitDigest(t.Context(), second.At); err != nil || got != second.Sum {
			t.Errorf("digest %x, the leader has %x: %v", got, second.Sum, err)
		}
	}
	for _, s := range []*core.Store{a, b, c} {
		mustClose(t, s.Close())
	}
}

// TestDigestNotesDamage: a store whose metadata is damaged has no digest, and says so of itself.
func TestDigestNotesDamage(t *testing.T) {
	log, dir := waltest.NewStream(1), t.TempDir()
	open := func() *core.Store {
		s := mustOpen(t, dir, shared(core.Options{NoBackground: true}, log))
		mustPromote(t, s)
		return s
	}
	s := open()
	if _, err := s.SetMetadata(t.Context(), []core.PathMetadata{{Path: "a", Metadata: core.Metadata{Text: "x"}}}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s.Checkpoint(t.Context()))
	mustClose(t, s.Close())
	damageDB(t, dir, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("metadata"))
		k, v := b.Cursor().First()
		k, v = bytes.Clone(k), bytes.Clone(v)
		v[0] ^= 4
		return b.Put(k, v)
	})
	s = open()
	defer func() { mustClose(t, s.Close()) }()
	if st, _ := s.Standing(); st.Damaged {
		t.Error("damage before anything was read")
	}
	if _, err := s.TakeDigest(t.Context(), 1); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("digest: %v", err)
	}
	if st, _ := s.Standing(); !st.Damaged {
		t.Error("the damage is not known")
	}
}
