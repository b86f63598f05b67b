package core_test

import (
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// A slot leaves the window of its group in the checkpoint that has new rows of it for a series that
// lags: the rows that were stored stand before them.
func TestLaggingRowsInOrder(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{NoBackground: true})
	def := definition(t, "DS:v:GAUGE:1000000:U:U", "RRA:AVERAGE:0.5:1:100")
	ahead, behind := mustCreate(t, s, "ahead", def), mustCreate(t, s, "behind", def)
	feed := func(ref core.Ref, from, to int64) {
		var b core.Batch
		for i := from; i <= to; i++ {
			b.Add(ref, rra.Seconds(programStart+10*i), rra.Float(float64(i)))
		}
		mustAppend(t, s, &b)
	}
	feed(behind, 1, 40)
	mustClose(t, s.Checkpoint(t.Context()))
	feed(ahead, 1, 400)
	feed(behind, 41, 70)
	mustClose(t, s.Checkpoint(t.Context()))
	rows, err := s.Fetch(t.Context(), behind, 0, programStart, programStart+700)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range rows.Values {
		if v != float64(i+1) {
			t.Errorf("row %d: %v", i+1, v)
		}
	}
}
