package core_test

import (
	"context"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// After a crash between the groups and the catalogue of a checkpoint, a series that the log made
// could not be read after the repair, if its definition was damaged: replay gave the definition
// another number than the state had. A later series had the definition of another one.
func TestRepairAfterCrashMixedUpDefinitions(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		crashWithLostDefinitions(t, dropped)
	}
}

// crashWithLostDefinitions loses definitions of a store that stopped in a checkpoint. If dropped,
// the catalogue has no series of definition 2, and the log makes the only one.
func crashWithLostDefinitions(t *testing.T, dropped bool) {
	t.Helper()
	x := newShortLog(t)
	ctx := context.Background()
	if dropped {
		mustClose(t, x.s.Drop(ctx, "b"))
		mustClose(t, x.s.Checkpoint(ctx))
	}
	for _, is := range []struct {
		path string
		def  []string
	}{
		{"bb", shortDefinitions["b"]},
		{"zz", []string{"DS:x:ABSOLUTE:30:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:50"}}, // the same class, a new definition
		{"aa", shortDefinitions["a"]},
	} {
		_, err := x.s.Create(ctx, core.Spec{
			Path: is.path, Labels: []core.Label{{Name: "n", Value: is.path}}, Definition: definition(t, is.def...), Start: rra.Seconds(programStart + 10*x.step),
		})
		mustClose(t, err)
		x.feed(20)
	}
	want, crashed := x.tell(x.s), ""
	x.s.SetHook(func(name string) {
		if name == "checkpoint-groups" {
			crashed = copyStore(t, x.dir)
		}
	})
	mustClose(t, x.s.Checkpoint(ctx))
	x.s.SetHook(nil)
	mustClose(t, x.s.Abandon())
	for _, c := range []struct {
		lost []int    // definitions
		gone []string // series
	}{
		{[]int{1}, nil},
		{[]int{2}, nil},
		{[]int{1, 2}, nil},
		{[]int{3}, []string{"c"}},
		{[]int{1, 2, 3, 4, 5}, []string{"c"}},
	} {
		hurt := copyStore(t, crashed)
		damageDB(t, hurt, func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("defs"))
			keys := keysOf(b)
			for _, id := range c.lost {
				mustClose(t, b.Delete(keys[id-1]))
			}
			return nil
		})
		got, err := core.Repair(ctx, hurt, core.Options{})
		if err != nil || len(got.Left) > 0 || len(got.Lost) != len(c.gone) {
			t.Errorf("definitions %v: %+v, %v", c.lost, got, err)
			continue
		}
		mustCheck(t, hurt)
		s := mustOpen(t, hurt, core.Options{NoBackground: true})
		have := x.tell(s)
		mustClose(t, s.Close())
		for path := range want {
			if gone := slices.Contains(c.gone, path); gone && have[path] != "" || !gone && have[path] != want[path] {
				t.Errorf("definitions %v: %s: %.300s, want %.300s: %+v", c.lost, path, have[path], want[path], got)
			}
		}
	}
}
