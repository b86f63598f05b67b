package router

import (
	"context"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
)

// Update is core.Store's.
func (r *Store) Update(ctx context.Context, ref core.Ref, b *core.Batch) (n int, err error) {
	p, in, ok := r.inner(ref)
	var part core.Batch
	one := true
	b.Split(func(_ int, x core.Ref) (*core.Batch, core.Ref) {
		one = one && x == ref
		return &part, in
	})
	switch {
	case !one:
		return 0, errors.New("an update command is for one series")
	case !ok && b.Len() == 0:
		return 0, nil
	case !ok:
		r.strays.Add(1)
		return 0, &core.RejectedError{Other: 1, First: []core.Rejection{{Err: notFound(ref)}}}
	}
	part.SkipPast, part.Stopped, part.Rejections = b.SkipPast, b.Stopped, b.Rejections
	ctx = r.numbered(ctx, p, 1)
	err = r.write(ctx, p, func(e core.Engine) (err error) {
		n, err = e.Update(ctx, in, &part)
		return err
	})
	if rejected, ok := errors.AsType[*core.RejectedError](err); ok {
		for i := range rejected.First {
			rejected.First[i].Err = asOuter(ref, rejected.First[i].Err)
		}
	}
	return n, err
}

// Flush is core.Store's.
func (r *Store) Flush(ctx context.Context, refs []core.Ref) error {
	return join(r.dealRefs(refs, func(sh share, in []core.Ref) error {
		return r.write(ctx, sh.p, func(e core.Engine) error { return e.Flush(ctx, in) })
	}))
}

// Alter is core.Store's.
func (r *Store) Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	p := r.PartitionOf(path)
	ctx = r.numbered(ctx, p, 1)
	ref, err := order(ctx, r, p, func(e core.Engine) (core.Ref, error) { return e.Alter(ctx, path, change) })
	return Outer(p, ref), err
}

// Relabel is core.Store's. If some partitions cannot be reached, out is complete all the same.
func (r *Store) Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error) {
	return Split(r, ls, func(x *core.PathLabels) int { return r.PartitionOf(x.Path) }, func(p int, part []core.PathLabels) ([]error, error) {
		return inPieces(ctx, r, p, part, core.Engine.Relabel)
	}, failError)
}

func failError(x *error, err error) {
	if *x == nil {
		*x = err
	}
}

// Drop is core.Store's.
func (r *Store) Drop(ctx context.Context, list []core.Dropping) ([]error, error) {
	partition := func(x *core.Dropping) int {
		if x.Ref != 0 {
			return r.place(x.Ref)
		}
		return r.PartitionOf(x.Path)
	}
	out, err := Split(r, list, partition, func(p int, part []core.Dropping) ([]error, error) {
		in := slices.Clone(part)
		for i := range in {
			in[i].Ref &= 1<<partitionShift - 1
		}
		out, err := inPieces(ctx, r, p, in, core.Engine.Drop)
		for i := range out {
			out[i] = asOuter(part[i].Ref, out[i])
		}
		return out, err
	}, failError)
	for i := range list {
		if partition(&list[i]) < 0 {
			out[i] = notFound(list[i].Ref)
		}
	}
	return out, err
}
