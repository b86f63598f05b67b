package node_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// An olderProgram reads a log as an older version of rondo does once newer ones write records of a
// kind that it does not know.
type olderProgram struct {
	core.Source
	newer *atomic.Bool // newer records are written
}

func (o olderProgram) Tail(ctx context.Context, from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	return o.Source.Tail(ctx, from, func(p wal.Pos, rec []byte) error {
		if o.newer.Load() {
			rec = append([]byte{0xee}, rec...)
		}
		return fn(p, rec)
	})
}

// TestOlderProgramIsNotCopiedAgain: a replica that an older version of rondo keeps halts in front
// of a record of a newer one. It was copied from another node, halted at the next record, and so
// on. A copy does not help: it waits until a newer program runs on its node, and then goes on.
func TestOlderProgramIsNotCopiedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	var older, newer atomic.Bool
	older.Store(true)
	c.source = func(node string, s core.Source) core.Source {
		if node == "b" && older.Load() {
			return olderProgram{s, &newer}
		}
		return s
	}
	w := c.begin("a", "b")
	newer.Store(true)
	looks := 0
	last := c.node("a").View()
	c.eventually("while b is older", func() string {
		w.append(1)
		if n := c.node("b").Counts().Copies; n > 0 {
			t.Fatalf("b has taken %d copies", n)
		}
		v := c.node("a").View()
		if v == last {
			return "no new look"
		}
		last = v
		halted := 0
		for p := range v.Map.Partitions {
			if m := v.Leader(p); m != nil && m.Name == "b" {
				continue // it writes what it knows
			}
			halted++
			st, _ := v.Members["b"].Standing(p)
			if !st.Outdated || !st.Halted || st.Copying || st.Current || st.Quarantine != "" {
				looks = 0
				return fmt.Sprintf("partition %d of b stands at %+v", p, st)
			}
		}
		if halted == 0 {
			looks = 0
			return "b leads every partition"
		}
		if looks++; looks < 30 {
			return "it is looked again"
		}
		return ""
	})
	w.check()
	c.halt("b")
	older.Store(false)
	c.run("b")
	c.eventually("with the newer program", c.alike)
	w.append(10)
	c.eventually("after more samples", c.alike)
	w.check()
}
