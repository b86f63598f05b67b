package router

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
)

// CreateBatch is core.Store's. If some partitions cannot be reached, out is complete all the same,
// and the error says so as well. If the limit is near, each series is made by a call of its own.
func (r *Store) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	if n := len(specs); n > core.MaxBatch {
		return nil, invalid("%d series at once, at most %d are possible", n, core.MaxBatch)
	}
	n := int64(len(specs))
	if r.limit.reserve(n) {
		out, err := r.createAll(ctx, specs)
		r.limit.arrived(n, made(out))
		return allFailed(out, err)
	}
	out := make([]core.Created, len(specs))
	for i := range specs {
		room := r.limit.reserve(1)
		if !room {
			// The partition says what else is wrong, and replaces a series that exists.
			x := &specs[i]
			_, clean, _ := core.CleanPath(x.Path)
			_, err := r.Lookup(x.Path)
			if errors.Is(err, core.ErrNotFound) {
				err = fmt.Errorf("create %q: %w", clean, core.ErrSeriesLimit)
			}
			if err != nil && x.Check() == nil {
				out[i].Err = err
				continue
			}
		}
		one, err := r.createAll(ctx, specs[i:i+1])
		if room {
			r.limit.arrived(1, made(one))
		}
		if err != nil {
			return out, err
		}
		out[i] = one[0]
	}
	return out, nil
}

// createAll is CreateBatch where there is room for all of specs. The new series of one partition
// are made with one log record. Copies have a number each.
func (r *Store) createAll(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	return Split(r, specs, func(x *core.Spec) int { return r.PartitionOf(x.Path) }, func(p int, part []core.Spec) (out []core.Created, err error) {
		if part[0].Copy != nil {
			out, err = inPieces(ctx, r, p, part, core.Engine.CreateBatch)
		} else {
			ctx := r.numbered(ctx, p, 1)
			out, err = order(ctx, r, p, func(e core.Engine) ([]core.Created, error) { return e.CreateBatch(ctx, part) })
		}
		return madeIn(p, out), err
	}, failCreated)
}

// madeIn returns outcomes of partition p as callers of the router see them.
func madeIn(p int, out []core.Created) []core.Created {
	for i := range out {
		out[i].Ref = Outer(p, out[i].Ref)
	}
	return out
}

// failCreated gives a series that has no outcome the error of its partition.
func failCreated(x *core.Created, err error) {
	if x.Ref == 0 && x.Err == nil {
		x.Err = err
	}
}

// allFailed returns nothing but the error if every outcome is the error, as one store does.
func allFailed(out []core.Created, err error) ([]core.Created, error) {
	if err == nil {
		return out, nil
	}
	for i := range out {
		if out[i].Err == nil || !errors.Is(err, out[i].Err) {
			return out, err
		}
	}
	return nil, err
}

// made counts the series that were made.
func made(out []core.Created) (n int64) {
	for i := range out {
		if out[i].Err == nil {
			n++
		}
	}
	return n
}
