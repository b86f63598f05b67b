package router_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A damagedEngine meets damage wherever it reads, but for the second series of a call.
type damagedEngine struct{ core.Engine }

func (d damagedEngine) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) (first error) {
	for i := range spans {
		err := fmt.Errorf("rows of ref %d: %w", spans[i].Ref, core.ErrDamaged)
		if i == 1 {
			err = d.Engine.FetchMany(ctx, spans[1:2], func(_ int, r *core.Rows, err error) { fn(1, r, err) })
		} else {
			fn(i, &core.Rows{}, err)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (d damagedEngine) Select(context.Context, core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) { yield(core.Series{}, core.ErrDamaged) }
}

func (d damagedEngine) Labels(context.Context, core.LabelQuery) (core.Labels, error) {
	return core.Labels{}, core.ErrDamaged
}

// replicas are the leader of one partition, and another replica that readers are given.
type replicas struct{ leader, reader core.Engine }

func (replicas) Partitions() int                                    { return 1 }
func (r replicas) Leader(context.Context, int) (core.Engine, error) { return r.leader, nil }
func (r replicas) Reader(context.Context, int) (core.Engine, error) { return r.reader, nil }

// A reader got an error, or less, from a replica that was damaged, while the leader was not.
func TestDamageIsReadFromTheLeader(t *testing.T) {
	s := openStores(t, 1, core.Options{})[0]
	var spans []core.Span
	for i := range 3 {
		ref, err := core.Create(t.Context(), s, core.Spec{Path: fmt.Sprint("s/", i), Definition: gauge(t), Start: rra.Seconds(begin)})
		must(t, err)
		spans = append(spans, core.Span{Ref: router.Outer(0, ref), Start: begin, End: begin + 100})
	}
	for _, whole := range []bool{true, false} {
		dir := replicas{s, damagedEngine{s}}
		if !whole {
			dir.leader = dir.reader
		}
		r := newRouter(t, dir, router.Options{})
		for n := 1; n <= 3; n += 2 {
			given := 0
			err := r.FetchMany(t.Context(), spans[:n], func(i int, _ *core.Rows, err error) {
				given++
				if damaged := errors.Is(err, core.ErrDamaged); damaged != (!whole && i != 1) {
					t.Errorf("the leader is whole: %v; series %d of %d: %v", whole, i, n, err)
				}
			})
			if given != n || errors.Is(err, core.ErrDamaged) == whole {
				t.Errorf("the leader is whole: %v; %d of %d series, %v", whole, given, n, err)
			}
		}
		listed := 0
		var last error
		for _, err := range r.Select(t.Context(), core.Query{Order: core.ByPath}) {
			if last = err; err == nil {
				listed++
			}
		}
		_, err := r.Labels(t.Context(), core.LabelQuery{Name: "x"})
		if whole != (listed == 3 && last == nil && err == nil) || whole == errors.Is(last, core.ErrDamaged) {
			t.Errorf("the leader is whole: %v; %d series listed, %v; labels: %v", whole, listed, last, err)
		}
	}
}
