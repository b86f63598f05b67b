package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
)

func TestSeriesLimit(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	o := core.Options{MaxSeries: 10}
	s := enginetest.OpenDir(t, dir, o)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	create := func(overwrite bool, names ...string) (made, exist, full int) {
		t.Helper()
		var specs []core.Spec
		for _, n := range names {
			specs = append(specs, core.Spec{Path: n, Definition: def, Overwrite: overwrite})
		}
		out, err := s.CreateBatch(ctx, specs)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			switch {
			case o.Err == nil:
				made++
			case errors.Is(o.Err, core.ErrExists) && o.Ref != 0:
				exist++
			case errors.Is(o.Err, core.ErrSeriesLimit):
				full++
			default:
				t.Errorf("create: %v", o.Err)
			}
		}
		return made, exist, full
	}
	for _, tt := range []struct {
		name              string
		overwrite         bool
		names             []string
		made, exist, full int
	}{
		{"room", false, []string{"a", "b", "c", "d", "e", "f", "g", "h"}, 8, 0, 0},
		{"those that exist take no room", false, []string{"a", "b", "c", "i", "j", "k"}, 2, 3, 1},
		{"full", false, []string{"x", "a"}, 0, 1, 1},
		{"overwrite of one that exists", true, []string{"a"}, 1, 0, 0},
		{"overwrite of one that does not", true, []string{"y"}, 0, 0, 1},
	} {
		if made, exist, full := create(tt.overwrite, tt.names...); made != tt.made || exist != tt.exist || full != tt.full {
			t.Errorf("%s: %d made, %d exist, %d over the limit, want %d, %d, %d", tt.name, made, exist, full, tt.made, tt.exist, tt.full)
		}
	}
	if err := core.Drop(ctx, s, "b"); err != nil {
		t.Fatal(err)
	}
	if made, _, _ := create(false, "z"); made != 1 {
		t.Error("a drop made no room")
	}
	again := crash(t, dir, core.Options{MaxSeries: 1}) // a limit does not bind what was accepted
	if n := again.Stats().Series; n != 10 {
		t.Errorf("%d series after a crash with a lower limit, want 10", n)
	}
}

func TestSeriesLimitHoldsForManyAtOnce(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{MaxSeries: 50})
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				_, err := s.Create(context.Background(), core.Spec{Path: fmt.Sprintf("%d/%d", i, j), Definition: def})
				if err != nil && !errors.Is(err, core.ErrSeriesLimit) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := s.Stats().Series; n != 50 {
		t.Errorf("%d series, the limit is 50", n)
	}
}
