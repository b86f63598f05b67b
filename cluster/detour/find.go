package detour

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
)

const (
	// findRun is how many paths a partition has to find within the patience.
	findRun = 256
	// partitionsAtOnce is how many partitions one call asks at the same time.
	partitionsAtOnce = 32
)

// unavailable says that a partition does not answer now.
func unavailable(p int) error { return fmt.Errorf("partition %d: %w", p, core.ErrUnavailable) }

// Find calls fn with the series of each path, in order. err wraps core.ErrNotFound if the path is
// no series, and core.ErrUnavailable if its partition does not answer. Find asks all partitions at
// the same time and waits for none of them for long.
func (d *Detour) Find(ctx context.Context, paths []string, fn func(i int, s core.Series, err error)) {
	type answer struct {
		s   core.Series
		err error
	}
	out := make([]answer, len(paths))
	d.each(len(paths), func(i int) string { return paths[i] }, func(p int, at []int) {
		for len(at) > 0 {
			run := at[:min(len(at), findRun)]
			found, err := make([]answer, len(run)), ctx.Err()
			if err == nil {
				err = d.ask(p, func(e core.Engine) {
					for k, i := range run {
						found[k].s, found[k].err = d.find(ctx, e, p, paths[i])
					}
				})
			}
			if err != nil {
				for _, i := range at {
					out[i].err = unavailable(p)
				}
				return
			}
			for k, i := range run {
				out[i] = found[k]
			}
			at = at[len(run):]
		}
	})
	for i := range out {
		fn(i, out[i].s, out[i].err)
	}
}

// find returns the series of a path from an engine of its partition.
func (d *Detour) find(ctx context.Context, e core.Engine, p int, path string) (core.Series, error) {
	in, err := e.Lookup(path)
	if err != nil {
		return core.Series{}, err
	}
	s, err := core.SeriesOf(ctx, e, in)
	if err != nil {
		return core.Series{}, err
	}
	s.Ref = router.Outer(p, in)
	d.names.put(s.Ref, s.Path)
	d.promises.exists(s.Path)
	return s, nil
}

// ask calls fn with an engine that answers questions about a partition. The error wraps
// core.ErrUnavailable if no engine answers, or fn did not return in time. What fn writes must
// not be read then.
func (d *Detour) ask(p int, fn func(e core.Engine)) error {
	e, err := router.ReaderNow(d.dir, p)
	if err != nil || !d.lanes[p].within(func() { fn(e) }) {
		return unavailable(p)
	}
	return nil
}

// each calls fn for every partition that some of n paths belong to, for several at the same time,
// with the indices of these paths.
func (d *Detour) each(n int, path func(i int) string, fn func(p int, at []int)) {
	shares := make(map[int][]int)
	for i := range n {
		p := d.PartitionOf(path(i))
		shares[p] = append(shares[p], i)
	}
	var wg sync.WaitGroup
	turn := make(chan struct{}, partitionsAtOnce)
	for p, at := range shares {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			fn(p, at)
		})
	}
	wg.Wait()
}

// Lookup is core.Engine's. It waits for no partition for long.
func (d *Detour) Lookup(path string) (ref core.Ref, err error) {
	d.Find(context.Background(), []string{path}, func(_ int, s core.Series, e error) { ref, err = s.Ref, e })
	return ref, err
}

// Resolve is core.Engine's. The series of a promise is as it is to be made. It waits for no
// partition for long.
func (d *Detour) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	for i, ref := range refs {
		x, err := d.series(ctx, ref)
		switch {
		case errors.Is(err, core.ErrNotFound):
		case err != nil:
			return err
		case !fn(i, x):
			return nil
		}
	}
	return nil
}

func (d *Detour) series(ctx context.Context, ref core.Ref) (core.Series, error) {
	if ref&promiseBit != 0 {
		q := d.promises.get(ref)
		if q == nil {
			return core.Series{}, notFound(ref)
		}
		return core.Series{Ref: ref, Path: q.spec.Path, Labels: q.spec.Labels, Definition: q.spec.Definition}, nil
	}
	p, in := router.Inner(ref)
	if p < 0 || p >= len(d.lanes) {
		return core.Series{}, notFound(ref)
	}
	var s core.Series
	var failed error
	if err := d.ask(p, func(e core.Engine) { s, failed = core.SeriesOf(ctx, e, in) }); err != nil {
		return core.Series{}, err
	}
	if failed != nil {
		return core.Series{}, failed
	}
	s.Ref = ref
	d.names.put(ref, s.Path)
	return s, nil
}

// Newest is the router's. A promise has none. It waits for no leader for long.
func (d *Detour) Newest(ref core.Ref) (core.Info, error) {
	p, in := router.Inner(ref)
	if ref&promiseBit != 0 || p < 0 || p >= len(d.lanes) {
		return core.Info{}, notFound(ref)
	}
	var x core.Info
	var failed error
	e, err := router.LeaderNow(d.dir, p)
	if err != nil || !d.lanes[p].within(func() { x, failed = e.Info(in) }) {
		return core.Info{}, unavailable(p)
	}
	x.Ref = ref
	return x, failed
}

// ListMetadata is core.Engine's. For one path it waits for no partition for long. A path whose
// partition does not answer seems to have no metadata: a receiver that needs some asks its sender.
func (d *Detour) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	if q.Path == "" {
		return d.Store.ListMetadata(ctx, q)
	}
	return func(yield func(core.PathMetadata, error) bool) {
		var m core.Metadata
		var failed error
		err := d.ask(d.PartitionOf(q.Path), func(e core.Engine) { m, failed = core.MetadataOf(ctx, e, q.Path) })
		if err == nil && !errors.Is(failed, core.ErrUnavailable) {
			yield(core.PathMetadata{Path: q.Path, Metadata: m}, failed)
		}
	}
}

// CreateBatch is core.Engine's. A series that cannot be made now because its partition does not
// answer gets a promise: a reference whose samples Submit takes. If the path had a promise before,
// the error of the series wraps core.ErrExists. If there is no room for promises, or no spool, the
// error wraps core.ErrUnavailable.
func (d *Detour) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	out := make([]core.Created, len(specs))
	d.each(len(specs), func(i int) string { return specs[i].Path }, func(p int, at []int) {
		made := d.create(ctx, p, specs, at)
		for k, i := range at {
			if k >= len(made) || later(made[k].Err) || made[k] == (core.Created{}) {
				out[i] = d.promise(p, &specs[i])
				continue
			}
			if out[i] = made[k]; made[k].Ref != 0 {
				d.names.put(made[k].Ref, specs[i].Path)
				d.promises.exists(specs[i].Path)
			}
		}
	})
	return out, nil
}

// later says whether what failed with an error may succeed later.
func later(err error) bool {
	return err != nil && !errors.Is(err, core.ErrExists) && !errors.Is(err, core.ErrInvalid) && !errors.Is(err, core.ErrSeriesLimit)
}

// create makes the series of one partition. It returns nothing if the leader does not answer.
func (d *Detour) create(ctx context.Context, p int, specs []core.Spec, at []int) []core.Created {
	if _, err := router.LeaderNow(d.dir, p); err != nil || d.lanes[p].away.Load() > 0 {
		return nil
	}
	some := make([]core.Spec, len(at))
	for k, i := range at {
		some[k] = specs[i]
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.Patience)
	defer cancel()
	var made []core.Created
	var err error
	if !d.lanes[p].within(func() { made, err = d.Store.CreateBatch(ctx, some) }) {
		return nil
	}
	if len(made) == 0 && err != nil && !later(err) { // it is of all of them
		made = make([]core.Created, len(at))
		for k := range made {
			made[k].Err = err
		}
	}
	return made
}

// promise returns a promise of a series.
func (d *Detour) promise(p int, spec *core.Spec) core.Created {
	if err := spec.Check(); err != nil {
		return core.Created{Err: err}
	}
	if d.spool == nil {
		return core.Created{Err: unavailable(p)}
	}
	q, old := d.promises.give(p, spec, time.Now())
	switch {
	case q == nil:
		return core.Created{Err: fmt.Errorf("too many new series for partitions without a leader: %w", unavailable(p))}
	case old:
		return core.Created{Ref: q.ref, Err: core.ErrExists}
	}
	return core.Created{Ref: q.ref}
}
