package router

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/abreast"
	"github.com/rondo-db/rondo/rra"
)

// keyOf returns the look-up key of a clean path.
func keyOf(path string) string { return strings.TrimSuffix(path, ".rrd") }

// entries returns what one partition yields. If the engine cannot be reached any more, or meets
// damage, before it has yielded anything, the leader is asked.
func entries[T any](r *Store, list func(ctx context.Context, e core.Engine) iter.Seq2[T, error]) source[T] {
	return func(ctx context.Context, p int) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			var none T
			begun, stopped := false, false
			err := r.Read(ctx, p, func(e core.Engine) error {
				for x, err := range list(ctx, e) {
					if err != nil && begun {
						yield(none, within(p, err))
						stopped = true
						return nil
					}
					if err != nil {
						return err
					}
					begun = true
					if !yield(x, nil) {
						stopped = true
						return nil
					}
				}
				return nil
			})
			if err != nil && !stopped {
				yield(none, err)
			}
		}
	}
}

// seriesOf is entries for series.
func (r *Store) seriesOf(list func(ctx context.Context, e core.Engine) iter.Seq2[core.Series, error]) source[core.Series] {
	read := entries(r, list)
	return func(ctx context.Context, p int) iter.Seq2[core.Series, error] {
		return func(yield func(core.Series, error) bool) {
			for x, err := range read(ctx, p) {
				x.Ref = Outer(p, x.Ref)
				if !yield(x, err) {
					return
				}
			}
		}
	}
}

// Select is core.Store's. In order of paths it reads all partitions at the same time, some entries
// ahead. References are in the order of the partitions.
func (r *Store) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	if q.RefsOnly && q.Check() == nil {
		return r.refs(ctx, q)
	}
	if q.Order != core.ByPath {
		return chained(ctx, r.n, r.seriesOf(func(ctx context.Context, e core.Engine) iter.Seq2[core.Series, error] { return e.Select(ctx, q) }))
	}
	page := pageOf(q.Page, r.n)
	q.Page = page
	return merged(ctx, r.n, page, func(x *core.Series) string { return keyOf(x.Path) },
		r.seriesOf(func(ctx context.Context, e core.Engine) iter.Seq2[core.Series, error] { return e.Select(ctx, q) }))
}

// refs is Select for references, which asks all partitions at the same time.
func (r *Store) refs(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		answers, err := gathered(ctx, r, func(e core.Engine) ([]core.Ref, error) { return core.Refs(ctx, e, q.Matchers) })
		for p, refs := range answers {
			for _, ref := range refs {
				if !yield(core.Series{Ref: Outer(p, ref)}, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(core.Series{}, err)
		}
	}
}

// ListMetadata is core.Store's.
func (r *Store) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	list := entries(r, func(ctx context.Context, e core.Engine) iter.Seq2[core.PathMetadata, error] {
		return e.ListMetadata(ctx, q)
	})
	if q.Path != "" {
		return list(ctx, r.PartitionOf(q.Path))
	}
	return merged(ctx, r.n, 0, func(x *core.PathMetadata) string { return x.Path }, list)
}

// gathered asks every partition and returns the answers by partition. If the error wraps
// core.ErrDamaged, the answers are the readable ones.
func gathered[T any](ctx context.Context, r *Store, question func(e core.Engine) (T, error)) ([]T, error) {
	answers := make([]T, r.n)
	errs := make([]error, r.n)
	abreast.Each(r.n, atOnce, func(p int) { answers[p], errs[p] = ask(ctx, r, p, question) })
	var damage skipped
	for _, err := range errs {
		if err != nil && !damage.over(err) {
			return nil, err
		}
	}
	return answers, damage.err()
}

// A combined is a combination of values and a definition as a key.
type combined struct {
	values string
	d      *rra.Definition
}

// Labels is core.Store's.
func (r *Store) Labels(ctx context.Context, q core.LabelQuery) (all core.Labels, err error) {
	answers, err := gathered(ctx, r, func(e core.Engine) (core.Labels, error) { return e.Labels(ctx, q) })
	seen := make(map[combined]bool)
	for _, part := range answers {
		all.Texts = append(all.Texts, part.Texts...)
		for _, c := range part.Combinations {
			key := combined{strings.Join(c.Values, "\x00"), c.Definition}
			if !seen[key] {
				seen[key] = true
				all.Combinations = append(all.Combinations, c)
			}
		}
	}
	slices.Sort(all.Texts)
	all.Texts = slices.Compact(all.Texts)
	if q.Most > 0 && len(all.Texts) > q.Most {
		all.Texts = all.Texts[:q.Most]
	}
	return all, err
}

// Resolve is core.Store's. That one series alone does not exist is certain.
func (r *Store) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	if len(refs) == 1 {
		x, err := of(ctx, r, refs[0], func(e core.Engine, p int, in core.Ref) (core.Series, error) {
			x, err := core.SeriesOf(ctx, e, in)
			x.Ref = Outer(p, x.Ref)
			return x, err
		})
		if err == nil {
			fn(0, x)
		} else if errors.Is(err, core.ErrNotFound) {
			err = nil
		}
		return err
	}
	var damage skipped
	for from := 0; from < len(refs); from += resolvePart {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := refs[from:min(from+resolvePart, len(refs))]
		found, err := r.resolve(ctx, part)
		if err != nil && !damage.over(err) {
			return err
		}
		for i := range found {
			if found[i].Ref != 0 && !fn(from+i, found[i]) {
				return damage.err()
			}
		}
	}
	return damage.err()
}

// resolvePart is how many references Resolve asks the partitions for at a time.
const resolvePart = 8 << 10

// resolve returns the entries of refs. An entry without a reference does not exist.
func (r *Store) resolve(ctx context.Context, refs []core.Ref) ([]core.Series, error) {
	out := make([]core.Series, len(refs))
	errs := r.dealRefs(refs, func(sh share, in []core.Ref) error {
		return r.Read(ctx, sh.p, func(e core.Engine) error {
			return e.Resolve(ctx, in, func(i int, x core.Series) bool {
				x.Ref = Outer(sh.p, x.Ref)
				out[sh.at[i]] = x
				return true
			})
		})
	})
	for _, err := range errs {
		if err != nil && !errors.Is(err, core.ErrDamaged) {
			return nil, err
		}
	}
	return out, join(errs)
}

// place returns the partition of a series, or -1.
func (r *Store) place(ref core.Ref) int {
	p, _, ok := r.inner(ref)
	if !ok {
		return -1
	}
	return p
}
