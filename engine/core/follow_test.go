package core_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// TestFollow gives the same update commands one by one, as Update, and many in a batch: the stores
// are the same, byte for byte, also after a crash, and so is what is reported of each command.
func TestFollow(t *testing.T) {
	ctx := context.Background()
	seed := seedtest.One(t)
	for i := range seedtest.Programs(2, 20) {
		r := rand.New(rand.NewPCG(seed, 2000+uint64(i)))
		o := core.Options{NoBackground: true, Sync: wal.SyncNone}
		paths := []string{"a", "b", "c", "d"}
		defs := []*rra.Definition{
			testDefinition(t, "DS:x:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:20", "RRA:MAX:0.5:3:20"),
			testDefinition(t, "DS:x:COUNTER:100:U:U", "DS:y:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:20"),
			testDefinition(t, "DS:x:GAUGE:100:U:U", "RRA:HWPREDICT:20:0.1:0.1:5"),
		}
		kinds := make([]*rra.Definition, len(paths))
		for j := range kinds {
			kinds[j] = defs[r.IntN(len(defs))]
		}
		dir := t.TempDir()
		open := func(dir string) *core.Store {
			s, err := core.Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		single, many := open(t.TempDir()), open(dir)
		var refs []core.Ref
		for j, p := range paths {
			ref := mustCreate(t, single, p, kinds[j])
			if other := mustCreate(t, many, p, kinds[j]); other != ref {
				t.Fatalf("references %v and %v", ref, other)
			}
			refs = append(refs, ref)
		}
		var b core.Batch
		b.Rejections = 1 << 20
		told := make(map[int]error) // by command
		var owner []int             // command of each sample of b
		for command := range 400 {
			k := r.IntN(len(paths))
			var one core.Batch
			for n := range 1 + r.IntN(4) {
				at := rra.Seconds(programStart + int64(command*2+n*3+r.IntN(9)-2))
				values := []rra.Value{rra.Int(r.Int64N(100)), rra.Int(r.Int64N(100))}[:len(kinds[k].Sources)]
				one.Add(refs[k], at, values...)
				b.Add(refs[k], at, values...)
				if n > 0 {
					b.Follow()
				}
				owner = append(owner, command)
			}
			if _, err := single.Update(ctx, refs[k], &one); err != nil {
				told[command] = fmt.Errorf("%q: %w", paths[k], errors.Unwrap(err)) // Append names the series
			}
		}
		got := make(map[int]error)
		if err := many.Append(ctx, &b); err != nil {
			rejected, ok := errors.AsType[*core.RejectedError](err)
			if !ok {
				t.Fatal(err)
			}
			for _, x := range rejected.First {
				if got[owner[x.Index]] != nil {
					t.Errorf("two samples of command %d are refused", owner[x.Index])
				}
				got[owner[x.Index]] = x.Err
			}
		}
		if len(told) <= 16 {
			t.Errorf("only %d commands were refused: the test tests little", len(told))
		}
		for _, c := range slices.Sorted(maps.Keys(told)) {
			if got[c] == nil || got[c].Error() != told[c].Error() {
				t.Errorf("program %d, command %d: got %v, want %v", i, c, got[c], told[c])
			}
		}
		if len(got) != len(told) {
			t.Errorf("program %d: %d commands refused, want %d", i, len(got), len(told))
		}
		want := mustDigest(t, single)
		sameDigest(t, fmt.Sprintf("program %d", i), mustDigest(t, many), want)
		copied := open(copyStore(t, dir))
		sameDigest(t, fmt.Sprintf("program %d, replayed", i), mustDigest(t, copied), want)
		for _, s := range []*core.Store{single, many, copied} {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
