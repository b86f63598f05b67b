package core

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// fuzzStore makes a store with series of three classes and something in every place of their
// states, and returns the log records that made it.
func fuzzStore(f testing.TB) (*Store, [][]byte) {
	f.Helper()
	ctx := context.Background()
	s, err := Open(f.TempDir(), Options{NoBackground: true, Reorder: 25e9})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	var refs []Ref
	for i, args := range [][]string{
		{"DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:40", "RRA:MAX:0.5:6:10"},
		{"DS:a:COUNTER:20:U:U", "DS:b:ABSOLUTE:20:U:U", "DS:c:COMPUTE:a,b,+", "RRA:LAST:0.5:3:7"},
		{"DS:a:DERIVE:20:U:U", "RRA:HWPREDICT:20:0.1:0.1:5"},
	} {
		def, err := rra.ParseDefinition(10, args)
		if err != nil {
			f.Fatal(err)
		}
		for j := range 3 {
			ref, err := s.Create(ctx, Spec{Path: fmt.Sprintf("%d/%d", i, j), Definition: def, Start: rra.Seconds(1e9), Labels: []Label{{Name: "l", Value: fmt.Sprint(j)}}})
			if err != nil {
				f.Fatal(err)
			}
			refs = append(refs, ref)
		}
	}
	for i := range 60 {
		var b Batch
		for _, ref := range refs {
			v := []rra.Value{rra.Text(0), rra.Float(float64(i))}
			if s.catalogue.class(ref.class()).sources == 1 {
				v = []rra.Value{rra.Int(int64(i * i))}
			}
			b.AddText(ref, rra.Seconds(1e9+int64(10*i+10)), v, []string{"007"})
		}
		if err := s.Append(ctx, &b); err != nil {
			f.Fatal(err)
		}
		if i == 30 {
			if err := s.Checkpoint(ctx); err != nil {
				f.Fatal(err)
			}
		}
	}
	var b Batch
	b.AddText(refs[8], rra.Seconds(1e9+9000), []rra.Value{rra.Text(0)}, []string{"0012"})
	if _, err := s.Update(ctx, refs[8], &b); err != nil {
		f.Fatal(err)
	}
	if err := s.Rename(ctx, "0/0", "r"); err != nil {
		f.Fatal(err)
	}
	if err := Drop(ctx, s, "0/1"); err != nil {
		f.Fatal(err)
	}
	if err := s.AddNote(ctx, "k", Note{Severity: "okay", Text: "t", Labels: []Label{{Name: "a", Value: "b"}}}); err != nil {
		f.Fatal(err)
	}
	var recs [][]byte
	if err := s.log.get().Replay(s.log.get().First(), func(_ wal.Pos, rec []byte) error {
		recs = append(recs, bytes.Clone(rec))
		return nil
	}); err != nil {
		f.Fatal(err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		f.Fatal(err)
	}
	return s, recs
}

// forgetGroups gives up every group, so that the next input finds what the database holds.
func (s *Store) forgetGroups() {
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			g.pend.Free()
			for i := range g.held {
				g.dropHeld(i)
			}
			g.unload()
			g.dirty = false
		}
	}
}

// eachGroup calls fn with every loaded group.
func (s *Store) eachGroup(fn func(g *group)) {
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if g.loaded {
				fn(g)
			}
		}
	}
}

// FuzzRecord replays arbitrary bytes as a log record: what it leaves of the states can be worked
// with.
func FuzzRecord(f *testing.F) {
	s, recs := fuzzStore(f)
	for i, rec := range recs {
		if i < 20 || i > len(recs)-8 {
			f.Add(rec) // one of each kind: creations, samples, a command, the catalogue's changes
		}
	}
	f.Add([]byte{record.KindSamples, 1<<2 | runFlush, 0, 0, 1, 0, 0, 2})                                       // held samples let go
	f.Add([]byte{record.KindSamples, 1 << 2, 0, 0, 4, 0, 0, 1, 1, 0, 200, 1})                                  // more series than there are
	f.Add([]byte{record.KindSamples, 9 << 2, 0, 0, 0, 0, 0})                                                   // no such class
	f.Add(append([]byte{record.KindSamples, 1 << 2, 0}, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1, 0)) // a time out of range
	f.Fuzz(func(t *testing.T, rec []byte) {
		if len(rec) == 0 {
			return
		}
		defer s.forgetGroups()
		used := s.space.Used()
		n, rec, err := numbers.Cut(rec)
		if err != nil || len(rec) == 0 {
			return
		}
		n = s.appender.numbers.Replayed(n, math.MaxUint32)
		if rec[0] != record.KindSamples {
			tk := &Ticket{op: &op{}}
			_ = s.replayOp(tk, s.catalogue.pos+1, bytes.Clone(rec))
			return
		}
		for _, sh := range s.appender.shards {
			_ = s.applyRecord(sh, math.MaxUint32, n, rec)
		}
		if grown := s.space.Used() - used; grown > 8<<20+100*int64(len(rec)) {
			t.Errorf("%d bytes of a record took %d bytes of memory", len(rec), grown)
		}
		s.eachGroup(func(g *group) {
			if !g.valid() || len(g.refused) > 0 {
				t.Errorf("state of group %d of class %d is not valid any more: %v", g.id, g.c.id, g.refused)
			}
		})
	})
}

// stateRecords returns the state records of s.
func stateRecords(f testing.TB, s *Store) (recs [][]byte) {
	f.Helper()
	err := s.db.View(nil, func(tx *boltfile.Tx) error {
		return tx.Bucket(bucketState).ForEach(func(_, v []byte) error {
			recs = append(recs, bytes.Clone(v))
			return nil
		})
	})
	if err != nil {
		f.Fatal(err)
	}
	return recs
}

// FuzzState decodes arbitrary bytes as the state record of each class, works with it and codes it
// again.
func FuzzState(f *testing.F) {
	s, _ := fuzzStore(f)
	for i, rec := range stateRecords(f, s) {
		f.Add(byte(i), rec[:len(rec)-record.SumSize])       // a whole one
		f.Add(byte(i+1), rec[:len(rec)-record.SumSize])     // of another class
		f.Add(byte(i), rec[:len(rec)/2])                    // cut
		f.Add(byte(i), append(bytes.Clone(rec), rec...))    // followed by more
		f.Add(byte(i), append([]byte{1, 0, 0}, rec[3:]...)) // without series
	}
	f.Fuzz(func(t *testing.T, class byte, rec []byte) {
		cs := *s.catalogue.classes.Load()
		g := &group{c: cs[int(class)%len(cs)]}
		held, used := s.space.held.Load(), s.space.Used()
		defer func() {
			g.pend.Free()
			g.unload()
			if n := s.space.Used(); n != used {
				t.Errorf("%d bytes of memory are lost", n-used)
			}
		}()
		if g.decodeState(record.AppendSum(bytes.Clone(rec), bucketState, g.stateKey())) != nil {
			return
		}
		g.countHeld()
		defer func() {
			for i := range g.held { // samples of series whose definition is missing stay
				g.dropHeld(i)
			}
			if n := s.space.held.Load(); n != held {
				t.Errorf("%d held samples too many are counted", n-held)
			}
		}()
		again := endState(g.appendState(nil), g.dir, g.stateKey())
		h := &group{c: g.c}
		defer h.unload()
		if err := h.decodeState(again); err != nil {
			t.Fatalf("a state that was read and written does not read: %v", err)
		}
		if third := endState(h.appendState(nil), h.dir, h.stateKey()); !bytes.Equal(again, third) {
			t.Fatalf("a state is written in two ways:\n%x\n%x", again, third)
		}
		sh := s.appender.shards[0]
		var b Batch
		for i := range g.n {
			if d := g.definition(i); g.alive(i) && d != nil {
				at := d.m.LastUpdate(g.state(i).W) + rra.Seconds(25)
				for range 3 {
					if at > MaxTime {
						break // encode refuses it
					}
					b.Add(makeRef(g.c.id, uint32(i)), at, slices.Repeat([]rra.Value{rra.Float(1)}, d.values)...)
					at += rra.Seconds(10)
				}
			}
		}
		var o outcome
		for i := range b.samples {
			sh.applySamples(g, b.stretch(i, 1), sh.indices(g, b.samples[i:i+1], false), &o)
		}
		for i := range g.held {
			if sh.applyAllHeld(g, i); g.held[i] != nil && g.definition(i) != nil && g.refused[i] == nil {
				t.Errorf("series %d, which is in use, still holds samples", i)
			}
		}
	})
}
