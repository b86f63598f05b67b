package peer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// countedEngine counts what its lists yield. Behind damagedBehind entries it meets damage, and it
// reports it at the end of the list, as a Store does.
type countedEngine struct {
	core.Engine
	yielded       atomic.Int64
	damagedBehind int64
	damaged       atomic.Bool
}

func (e *countedEngine) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		for x, err := range e.Engine.Select(ctx, q) {
			if n := e.yielded.Add(1); e.damagedBehind != 0 && n >= e.damagedBehind {
				e.damaged.Store(true)
			}
			if !yield(x, err) {
				return
			}
		}
		if e.damaged.Load() {
			yield(core.Series{}, fmt.Errorf("some are left out: %w", core.ErrDamaged))
		}
	}
}

func (e *countedEngine) Stats() core.Stats {
	st := e.Engine.Stats()
	if e.damaged.Load() {
		st.Damaged = 1
	}
	return st
}

// pageStore has some series, and returns their paths in order.
func pageStore(t *testing.T) (core.Engine, []string) {
	t.Helper()
	s := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	specs, paths := make([]core.Spec, 3000), make([]string, 3000)
	for i := range specs {
		paths[i] = fmt.Sprintf("s/%04d", i)
		specs[i] = core.Spec{Path: paths[i], Definition: d, Start: rra.Seconds(1000)}
	}
	if _, err := s.CreateBatch(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	return s, paths
}

// pathsOf returns the first paths of a list, at most most if that is not 0, and its error.
func pathsOf(seq iter.Seq2[core.Series, error], most int) (paths []string, err error) {
	for x, err := range seq {
		if err != nil {
			return paths, err
		}
		if paths = append(paths, x.Path); len(paths) == most {
			break
		}
	}
	return paths, nil
}

// A caller who says how many entries it takes gets them, and all others if it goes on. The node
// reads as many as are taken.
func TestListOfAPage(t *testing.T) {
	s, paths := pageStore(t)
	e := &countedEngine{Engine: s}
	c := partition(t, serve(t, of(e)).URL, peer.Options{})
	for _, n := range []int{-1, 0, 1, 7, 600, len(paths) - 1, len(paths), len(paths) + 1} {
		q := core.Query{Prefix: "s/", Order: core.ByPath, Page: n}
		all := c.Select(t.Context(), q)
		for range 2 { // the same list again
			if got, err := pathsOf(all, 0); err != nil || !slices.Equal(got, paths) {
				t.Errorf("%d are taken: who goes on gets %d of %d, %v", n, len(got), len(paths), err)
			}
		}
		q.After = "s/1000"
		if got, err := pathsOf(c.Select(t.Context(), q), 0); err != nil || !slices.Equal(got, paths[1001:]) {
			t.Errorf("%d are taken behind the first: who goes on gets %d, %v", n, len(got), err)
		}
		e.yielded.Store(0)
		most := max(n, 1)
		got, err := pathsOf(all, most)
		if err != nil || !slices.Equal(got, paths[:min(most, len(paths))]) {
			t.Errorf("%d of %d, %v", len(got), most, err)
		}
		if read := e.yielded.Load(); n > 0 && read > int64(n) {
			t.Errorf("%d are taken, the node reads %d", n, read)
		}
	}
}

// A list reports damage after everything else, wherever the store has met it.
func TestPageOfADamagedStore(t *testing.T) {
	s, paths := pageStore(t)
	for _, behind := range []int64{1, 50, 100, 101, 2999} {
		e := &countedEngine{Engine: s, damagedBehind: behind}
		c := partition(t, serve(t, of(e)).URL, peer.Options{})
		got, err := pathsOf(c.Select(t.Context(), core.Query{Order: core.ByPath, Page: 100}), 0)
		if !errors.Is(err, core.ErrDamaged) || !slices.Equal(got, paths) {
			t.Errorf("damage behind entry %d: %d of %d entries, %v", behind, len(got), len(paths), err)
		}
	}
}
