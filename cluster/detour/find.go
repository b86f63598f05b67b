package detour

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
)

// findRun is how many paths a partition has to find within the patience.
const findRun = 256

func notFound(ref core.Ref) error { return fmt.Errorf("ref %d: %w", ref, core.ErrNotFound) }

// Find calls fn with the series of each path, in order. err wraps core.ErrNotFound if the path is
// no series, and core.ErrUnavailable if its partition does not answer. Find asks all partitions at
// the same time and waits for none of them for long.
func (d *Detour) Find(ctx context.Context, paths []string, fn func(i int, s core.Series, err error)) {
	type answer struct {
		s   core.Series
		err error
	}
	out, _ := router.Split(d.Store, paths, func(path *string) int { return d.PartitionOf(*path) }, func(p int, part []string) (out []answer, err error) {
		for run := range slices.Chunk(part, findRun) {
			found, err := ask(d, p, router.ReaderNow, func(e core.Engine) ([]answer, error) {
				found := make([]answer, len(run))
				for i, path := range run {
					found[i].s, found[i].err = d.find(ctx, e, p, path)
				}
				return found, nil
			})
			if err != nil {
				return out, err
			}
			out = append(out, found...)
		}
		return out, nil
	}, func(x *answer, err error) {
		if x.s.Ref == 0 && x.err == nil {
			x.err = err
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
	return d.named(ctx, e, p, in)
}

// named returns a series of a partition, and remembers its path.
func (d *Detour) named(ctx context.Context, e core.Engine, p int, in core.Ref) (core.Series, error) {
	s, err := core.SeriesOf(ctx, e, in)
	if err == nil {
		s.Ref = router.Outer(p, in)
		d.names.put(s.Ref, s.Path)
	}
	return s, err
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
	p, in := router.Inner(ref)
	if p < 0 || p >= d.Partitions() {
		return core.Series{}, notFound(ref)
	}
	if in&promiseBit != 0 {
		q := d.promises.get(in)
		if q == nil {
			return core.Series{}, notFound(ref)
		}
		return core.Series{Ref: ref, Path: q.spec.Path, Labels: q.spec.Labels, Definition: q.spec.Definition}, nil
	}
	return ask(d, p, router.ReaderNow, func(e core.Engine) (core.Series, error) { return d.named(ctx, e, p, in) })
}

// Newest is the router's. A promise has none. It waits for no leader for long.
func (d *Detour) Newest(ref core.Ref) (core.Info, error) {
	p, in := router.Inner(ref)
	if p < 0 || p >= d.Partitions() || in&promiseBit != 0 {
		return core.Info{}, notFound(ref)
	}
	x, err := ask(d, p, router.LeaderNow, func(e core.Engine) (core.Info, error) { return e.Info(in) })
	x.Ref = ref
	return x, err
}

// ListMetadata is core.Engine's. For one path it waits for no partition for long. A path whose
// partition does not answer seems to have no metadata: a receiver that needs some asks its sender.
func (d *Detour) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	if q.Path == "" {
		return d.Store.ListMetadata(ctx, q)
	}
	return func(yield func(core.PathMetadata, error) bool) {
		m, err := ask(d, d.PartitionOf(q.Path), router.ReaderNow, func(e core.Engine) (core.Metadata, error) { return core.MetadataOf(ctx, e, q.Path) })
		if !errors.Is(err, core.ErrUnavailable) {
			yield(core.PathMetadata{Path: q.Path, Metadata: m}, err)
		}
	}
}

// CreateBatch is core.Engine's. A series that cannot be made now because its partition does not
// answer gets a promise: a reference whose samples Submit takes. If the path had a promise before,
// the error of the series wraps core.ErrExists. If there is no room for promises, or no spool, the
// error wraps core.ErrUnavailable.
func (d *Detour) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	return router.Split(d.Store, specs, func(x *core.Spec) int { return d.PartitionOf(x.Path) }, func(p int, part []core.Spec) ([]core.Created, error) {
		ctx, cancel := context.WithTimeout(ctx, d.o.Patience)
		defer cancel()
		made, err := ask(d, p, router.LeaderNow, func(core.Engine) ([]core.Created, error) { return d.Store.CreateBatch(ctx, part) })
		out := make([]core.Created, len(part))
		for i := range out {
			if out[i].Err = err; i < len(made) {
				out[i] = made[i]
			}
			if out[i].Ref != 0 {
				d.names.put(out[i].Ref, part[i].Path)
			} else if later(out[i].Err) {
				out[i] = d.promise(p, &part[i])
			}
		}
		return out, nil
	}, nil)
}

// later says whether what failed with an error may succeed later.
func later(err error) bool {
	return !errors.Is(err, core.ErrExists) && !errors.Is(err, core.ErrInvalid) && !errors.Is(err, core.ErrSeriesLimit)
}

// promise returns a promise of a series.
func (d *Detour) promise(p int, spec *core.Spec) core.Created {
	if err := spec.Check(); err != nil {
		return core.Created{Err: err}
	}
	if d.o.Bytes == 0 || spec.Copy != nil {
		return core.Created{Err: fmt.Errorf("partition %d: %w", p, core.ErrUnavailable)}
	}
	q, old := d.promises.give(p, spec, time.Now())
	switch {
	case q == nil:
		return core.Created{Err: fmt.Errorf("too many new series for partitions without a leader: %w", core.ErrUnavailable)}
	case old:
		return core.Created{Ref: q.ref, Err: core.ErrExists}
	}
	return core.Created{Ref: q.ref}
}
