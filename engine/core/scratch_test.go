package core

import (
	"context"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// Buffers of a checkpoint, tens of megabytes, stayed on the heap until the next one.
func TestCheckpointLetsGoOfItsBuffers(t *testing.T) {
	ctx := context.Background()
	const start = 1 << 30
	s, ref := storeOfOne(t, start, 100)
	cp := &s.checkpoints
	used := false
	s.SetHook(func(point string) {
		if point == "checkpoint-between" && len(cp.scratch.buf) > 0 {
			used = true
		}
	})
	var b Batch
	for i := range int64(40) {
		b.Add(ref, rra.Seconds(start+1+i), rra.Float(float64(i)))
	}
	if err := s.Append(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	s.SetHook(nil)
	if !used {
		t.Error("the checkpoint used no buffers")
	}
	if cap(cp.scratch.buf) > 0 || cp.scratch.pieces != nil {
		t.Errorf("kept: %d bytes for blocks, %d pieces", cap(cp.scratch.buf), cap(cp.scratch.pieces))
	}
}
