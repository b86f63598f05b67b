package core

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// storeOfOne opens a store with one series, which begins at start, in seconds, and has one archive
// of a number of rows, a second each.
func storeOfOne(t *testing.T, start, rows int64) (*Store, Ref) {
	t.Helper()
	s, err := Open(t.TempDir(), Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	def, err := rra.ParseDefinition(1, []string{"DS:v:GAUGE:10:U:U", fmt.Sprintf("RRA:AVERAGE:0.5:1:%d", rows)})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Create(context.Background(), Spec{Path: "a", Definition: def, Start: rra.Seconds(start)})
	if err != nil {
		t.Fatal(err)
	}
	return s, ref
}

// Every addition to a slot took a new sub-block number, and there are 65,536 of them.
func TestSubBlockNumbersBeginAgain(t *testing.T) {
	ctx := context.Background()
	const start = 1 << 30 // the beginning of a slot
	s, ref := storeOfOne(t, start, 24000)
	g := s.catalogue.class(ref.class()).group(ref.number())
	at := int64(start)
	checkpoint := func() { // with one more block of rows
		t.Helper()
		var b Batch
		for range 32 {
			at++
			b.Add(ref, rra.Seconds(at), rra.Float(float64(at)))
		}
		if err := s.Append(ctx, &b); err != nil {
			t.Fatal(err)
		}
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint()
	e := g.dir.Slots[0][0]
	moved := rowblock.SubBlocks{Slot: e.Slot, Lo: rowblock.MaxSub - 3, Hi: rowblock.MaxSub - 2}
	err := s.db.Update(nil, func(tx *boltfile.Tx) error {
		rows := tx.Bucket(bucketRows)
		old := rowblock.Key(nil, g.c.id, 0, e.Slot, e.Lo, g.id)
		b, err := rowblock.Open(old, rows.Get(old))
		if err != nil {
			return err
		}
		var strips []rowblock.Strip
		col, err := b.Column(0)
		if err == nil {
			err = rowblock.SplitColumn(col, &g.c.streams[0], func(skip, rows int, data []byte) {
				strips = append(strips, rowblock.Strip{Skip: skip, Rows: rows, Data: data})
			})
		}
		if err != nil {
			return err
		}
		k := rowblock.Key(nil, g.c.id, 0, e.Slot, moved.Lo, g.id)
		if err := rows.Put(k, rowblock.Append(nil, k, strips)); err != nil {
			return err
		}
		return rows.Delete(old)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.dir = g.dir.Clone(1)
	g.dir.Slots[0][0] = moved
	for range rowblock.MergeMany {
		checkpoint()
	}
	if e := g.dir.Slots[0][0]; e.Lo != 0 || e.Hi > rowblock.MergeMany {
		t.Errorf("sub-blocks %d to %d after a merge past number %d", e.Lo, e.Hi, rowblock.MaxSub)
	}
	rows, err := s.Fetch(ctx, ref, 0, start, at)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range rows.Values {
		if want := float64(start + 1 + i); v != want {
			t.Fatalf("row %d: got %v, want %v", i, v, want)
		}
	}
	if ps, err := s.Check(ctx); err != nil || len(ps) > 0 {
		t.Errorf("check: %v, %v", ps, err)
	}
}
