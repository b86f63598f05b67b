package spread_test

import (
	"fmt"
	"hash/fnv"
	"runtime"
	"testing"
	"weak"

	"github.com/rondo-db/rondo/cluster/spread"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// counting asks for the number of series with the rules of an Evaluator that has none.
func counting() partial.Question {
	return partial.Question{Expressions: []string{"count(m)"}, End: 1_600_000_000_000, Lookback: 300_000, Rules: fnv.New64a().Sum64()}
}

// TestReloadKeepsTheBudget: each reload took memory of the partition's budget for the names of its
// series, and never gave it back: after some of them no series could be exported, altered or tuned.
func TestReloadKeepsTheBudget(t *testing.T) {
	store := enginetest.Open(t)
	const n = 2_000
	specs := make([]core.Spec, n)
	for i := range specs {
		specs[i] = core.Spec{
			Path: fmt.Sprintf("a/%d", i), Labels: []core.Label{{Name: "__name__", Value: "m"}, {Name: "i", Value: fmt.Sprint(i)}},
			Definition: receivers.StandardDefinition(10), Start: rra.Seconds(1_600_000_000),
		}
	}
	if _, err := store.CreateBatch(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	v := spread.NewEvaluator(newEngine(t), nil, 2)
	var taken []int64
	for range 6 {
		if _, err := v.Evaluate(t.Context(), 0, store, counting()); err != nil {
			t.Fatal(err)
		}
		taken = append(taken, store.Stats().MemoryBytes)
		v.SetRules(nil) // as a reload does
	}
	if first, last := taken[1], taken[5]; last > first+n*100 {
		t.Errorf("%d bytes of the budget are taken after the reloads, want no more than before: %d", last, taken)
	}
}

// TestPartitionThatMovedAwayIsForgotten: the closed store of a partition that has moved to another
// node stayed in memory until the partition came back.
func TestPartitionThatMovedAwayIsForgotten(t *testing.T) {
	v := spread.NewEvaluator(newEngine(t), nil, 2)
	gone := func() weak.Pointer[core.Store] {
		store, err := core.Open(t.TempDir(), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Evaluate(t.Context(), 0, store, counting()); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		return weak.Make(store)
	}()
	if _, err := v.Evaluate(t.Context(), 1, enginetest.Open(t), counting()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		runtime.GC()
	}
	if gone.Value() != nil {
		t.Error("the closed store is still in memory")
	}
	runtime.KeepAlive(v)
}
