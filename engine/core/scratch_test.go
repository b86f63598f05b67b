package core

import (
	"context"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// Buffers of a checkpoint, tens of megabytes, stayed on the heap until the next one.
func TestCheckpointLetsGoOfItsBuffers(t *testing.T) {
	ctx := context.Background()
	s, err := Open(t.TempDir(), Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	def, err := rra.ParseDefinition(1, []string{"DS:v:GAUGE:10:U:U", "RRA:AVERAGE:0.5:1:100"})
	if err != nil {
		t.Fatal(err)
	}
	const start = 1 << 30
	ref, err := s.Create(ctx, Spec{Path: "a", Definition: def, Start: rra.Seconds(start)})
	if err != nil {
		t.Fatal(err)
	}
	cp := &s.checkpoints
	used := false
	s.SetHook(func(point string) {
		if point == "checkpoint-between" && len(cp.scratch.buf) > 0 && cp.buffers.bytes > 0 {
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
	if cap(cp.scratch.buf) > 0 || cp.scratch.pieces != nil || len(cp.buffers.free) > 0 || cp.buffers.bytes > 0 {
		t.Errorf("kept: %d bytes for blocks, %d pieces, %d bytes for states", cap(cp.scratch.buf), cap(cp.scratch.pieces), cp.buffers.bytes)
	}
}
