package core_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// TestOneCommandLoadsOneGroup: what a store has loaded that was opened for one command is what the
// command needed. What the log says of other groups is neither lost nor applied twice, whether they
// are looked at, or written, or left as they are.
func TestOneCommandLoadsOneGroup(t *testing.T) {
	const n = 1500 // of them 256 a group
	dir := t.TempDir()
	one := core.Options{NoBackground: true, Sync: wal.SyncNone}
	s := mustOpen(t, dir, one)
	def := definition(t, "DS:v:GAUGE:1000000:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:5:20")
	var refs []core.Ref
	for i := range n {
		refs = append(refs, mustCreate(t, s, fmt.Sprintf("s/%d", i), def))
	}
	mustClose(t, s.Checkpoint(t.Context()))
	round := int64(0)
	feed := func(s *core.Store, every int) {
		t.Helper()
		round++
		var b core.Batch
		for i := 0; i < n; i += every {
			b.Add(refs[i], rra.Seconds(programStart+10*round), rra.Float(float64(i)+float64(round)/8))
		}
		mustAppend(t, s, &b)
	}
	for range 5 {
		feed(s, 3)
	}
	want := mustDigest(t, s)
	mustClose(t, s.Close())
	for _, command := range []struct {
		name   string
		o      core.Options
		do     func(s *core.Store)
		loaded int64
	}{
		{"nothing", one, func(*core.Store) {}, 0},
		{"last", core.Options{ReadOnly: true}, func(s *core.Store) {
			if at, err := s.Last(refs[3]); err != nil || at != rra.Seconds(programStart+50) {
				t.Errorf("last update of a series at %v, %v", at, err)
			}
		}, 1},
		{"fetch", one, func(s *core.Store) {
			rows, err := s.Fetch(t.Context(), refs[300], 0, programStart, programStart+50)
			if err != nil || len(rows.Values) < 5 || rows.Values[4] != 300+5.0/8 {
				t.Errorf("fetched %v, %v", rows.Values, err)
			}
		}, 1},
		{"append", one, func(s *core.Store) { feed(s, n) }, 1},
		{"drop", one, func(s *core.Store) {
			if err := core.Drop(t.Context(), s, "s/700"); err != nil {
				t.Error(err)
			}
		}, 1},
		{"what a replayed drop needs", one, func(*core.Store) {}, 1},
		{"checkpoint", one, func(s *core.Store) { mustClose(t, s.Checkpoint(t.Context())) }, 6},
		{"nothing after a checkpoint", one, func(*core.Store) {}, 0},
	} {
		s := mustOpen(t, dir, command.o)
		command.do(s)
		if got := s.Stats().GroupsLoaded; got != command.loaded {
			t.Errorf("%s: %d groups are loaded, want %d", command.name, got, command.loaded)
		}
		if command.name == "append" || command.name == "drop" {
			want = mustDigest(t, s)
		}
		mustClose(t, s.Close())
		// A store that stays applies all of the log before it is open.
		eager := mustOpen(t, copyStore(t, dir), core.Options{Sync: wal.SyncNone})
		sameDigest(t, command.name, mustDigest(t, eager), want)
		mustClose(t, eager.Close())
	}
	lazy := mustOpen(t, dir, one)
	sameDigest(t, "in the end", mustDigest(t, lazy), want)
	mustClose(t, lazy.Close())
}

// TestCloseReplacesALongLog: what all is in the database is not left for every Open to read.
func TestCloseReplacesALongLog(t *testing.T) {
	dir := t.TempDir()
	one := core.Options{NoBackground: true, Sync: wal.SyncNone}
	s := mustOpen(t, dir, one)
	ref := mustCreate(t, s, "a", definition(t, "DS:v:GAUGE:1000000:U:U", "RRA:AVERAGE:0.5:1:10"))
	at := rra.Seconds(programStart)
	for try := range 5 {
		for range 40 {
			var b core.Batch
			for range 2000 { // random mantissas: 8 bytes each and more
				at += rra.Seconds(1)
				b.Add(ref, at, rra.Float(math.Sqrt(float64(at))))
			}
			mustAppend(t, s, &b)
		}
		mustClose(t, s.Close())
		s = mustOpen(t, dir, one)
		if n := s.Stats().LogBytes; n > 64<<10 {
			t.Errorf("try %d: %d bytes of log are left", try, n)
		}
	}
	mustClose(t, s.Close())
}
