package core_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// Nothing limited the classes, and a reference has its class in bits that others use as well.
func TestClassesAreLimited(t *testing.T) {
	ctx := t.Context()
	dir, limited := t.TempDir(), core.Options{}.WithMaxClasses(3)
	s := enginetest.OpenDir(t, dir, limited)
	shape := func(n int) *rra.Definition {
		return definition(t, "DS:a:GAUGE:20:U:U", fmt.Sprintf("RRA:AVERAGE:0.5:%d:10", n))
	}
	// Several at once must not share the last place.
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.Create(ctx, core.Spec{Path: fmt.Sprint("s", i), Definition: shape(i + 1)}) })
	}
	wg.Wait()
	made, known := 0, 0
	for i, err := range errs {
		switch {
		case err == nil:
			made++
			known = i + 1
		case !errors.Is(err, core.ErrSeriesLimit):
			t.Errorf("series %d: %v, want %v", i, err, core.ErrSeriesLimit)
		}
	}
	if made != 3 {
		t.Fatalf("%d classes are made, want 3", made)
	}
	out, err := s.CreateBatch(ctx, []core.Spec{{Path: "x", Definition: shape(known)}, {Path: "y", Definition: shape(20)}, {Path: "z", Definition: shape(known)}})
	if err != nil || out[0].Err != nil || !errors.Is(out[1].Err, core.ErrSeriesLimit) || out[2].Err != nil {
		t.Errorf("a batch with one class too many: %v, %v", out, err)
	}
	change := func(c core.Copy) (core.Copy, error) {
		m, err := rra.Compile(shape(30))
		if err == nil {
			c.Definition, c.State, c.Rows = m.Definition(), m.NewState(0), nil
		}
		return c, err
	}
	if _, err := s.Alter(ctx, "x", change); !errors.Is(err, core.ErrSeriesLimit) {
		t.Errorf("alter: %v, want %v", err, core.ErrSeriesLimit)
	}
	c, err := s.Export(ctx, out[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	more, _ := change(c)
	more.Path = "imported"
	if out, err := s.Import(ctx, []core.Copy{more}, false); err != nil || !errors.Is(out[0].Err, core.ErrSeriesLimit) {
		t.Errorf("import: %v, %v, want %v", out, err, core.ErrSeriesLimit)
	}
	if err := s.Rename(ctx, "x", "w"); err != nil {
		t.Errorf("rename: %v", err)
	}
	if out, err := s.CreateBatch(ctx, []core.Spec{{Path: "v", Definition: shape(20)}, {Path: "u", Definition: shape(known)}}); err != nil || out[1].Err != nil {
		t.Errorf("a series behind one of a class too many: %v, %v", out, err)
	}
	// Replay refuses the same series: the log has them.
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, limited)), mustDigest(t, s))
}
