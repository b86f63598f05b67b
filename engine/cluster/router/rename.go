package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// movedLabel is the label of a series that is being moved to the partition of its new path. Its
// value is the old path. A move that was interrupted is recognised by it.
const movedLabel = "rondo_moved_from"

// moveTries is how often a move copies a series that gets samples meanwhile.
const moveTries = 100

// Rename is core.Store's. If the new path belongs to another partition, the series is moved. It
// then has another reference. While it is moved, both paths are series, and the new one has the
// label rondo_moved_from. If Rename is interrupted, by an error or by the end of the process,
// nothing is lost: at least one of the paths has everything. Then Rename with the same paths
// finishes the move.
//
// Labels and metadata of the old path that are changed during the move may be lost.
func (r *Store) Rename(ctx context.Context, path, to string) error {
	from, _, err := core.CleanPath(path)
	if err != nil {
		return err
	}
	key, to, err := core.CleanPath(to)
	if err != nil {
		return err
	}
	p, q := Partition(from, r.n), Partition(key, r.n)
	if p == q {
		gone := removal{path: path, call: func(e core.Engine) error { return e.Rename(ctx, path, to) }}
		return r.writeOnce(ctx, p, gone.run)
	}
	m := move{r: r, from: from, to: to, p: p, q: q}
	return m.run(ctx)
}

// A move is a rename from partition p to partition q:
//
//  1. the series is copied: both paths are series, the new one with movedLabel
//  2. the metadata of the old path is copied
//  3. the old path is dropped, unless it has had samples since step 1: then the copy is made anew
//  4. movedLabel is taken away
//
// After each step, and within each, one of the paths at least is a whole series. A move that finds
// the new path with movedLabel goes on where an earlier one has stopped.
type move struct {
	r        *Store
	from, to string // a look-up key and a clean path
	p, q     int
}

// failed returns err as an error of the rename.
func (m *move) failed(err error) error {
	return fmt.Errorf("rename %q to %q: %w", m.from, m.to, err)
}

func (m *move) run(ctx context.Context) error {
	old, errOld := m.lookup(ctx, m.p, m.from)
	if errOld != nil && !errors.Is(errOld, core.ErrNotFound) {
		return m.failed(errOld)
	}
	begun, err := m.begun(ctx)
	if errOld != nil && begun {
		return m.unmark(ctx) // an earlier move was interrupted before its last step
	}
	if errOld != nil {
		return fmt.Errorf("rename %q: %w", m.from, core.ErrNotFound)
	}
	if err != nil {
		return err
	}
	for range moveTries {
		var c core.Copy
		if c, err = m.copyOf(ctx, old); err == nil {
			err = m.put(ctx, c, begun)
		}
		if err == nil {
			begun = true
			err = m.copyMetadata(ctx)
		}
		var gone bool
		if err == nil {
			gone, err = m.dropOld(ctx, old, c)
		}
		if err == nil && gone {
			return m.unmark(ctx)
		}
		if err != nil && !errors.Is(err, errMoved) {
			return m.failed(err)
		}
		if old, err = m.lookup(ctx, m.p, m.from); errors.Is(err, core.ErrNotFound) && begun {
			return m.unmark(ctx) // another caller has dropped the old path
		} else if err != nil {
			return m.failed(err)
		}
	}
	return m.failed(fmt.Errorf("the series gets samples all the time, and both paths have it now: %w", core.ErrUnavailable))
}

// errMoved says that the old path has another series by now.
var errMoved = errors.New("the series has changed")

// lookup returns the reference of a path within its partition, as who leads for certain knows it.
func (m *move) lookup(ctx context.Context, p int, path string) (core.Ref, error) {
	return order(ctx, m.r, p, func(e core.Engine) (core.Ref, error) { return m.r.lookupLeading(p, e, path) })
}

// begun reports whether the new path is the copy of an earlier move. The error wraps
// core.ErrExists if it is another series.
func (m *move) begun(ctx context.Context) (bool, error) {
	ref, err := m.lookup(ctx, m.q, m.to)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	var x core.Series
	if err == nil {
		x, err = order(ctx, m.r, m.q, func(e core.Engine) (core.Series, error) { return e.Series(ref) })
	}
	if err != nil {
		return false, m.failed(err)
	}
	if !slices.Contains(x.Labels, core.Label{Name: movedLabel, Value: m.from}) {
		return false, m.failed(core.ErrExists)
	}
	return true, nil
}

// copyOf returns the old series under its new path, with movedLabel.
func (m *move) copyOf(ctx context.Context, old core.Ref) (core.Copy, error) {
	c, err := order(ctx, m.r, m.p, func(e core.Engine) (core.Copy, error) {
		if err := e.Flush(ctx, []core.Ref{old}); err != nil {
			return core.Copy{}, err
		}
		return e.Export(ctx, old)
	})
	if errors.Is(err, core.ErrNotFound) {
		return core.Copy{}, errMoved
	}
	c.Path = m.to
	c.Labels = append(slices.Clone(c.Labels), core.Label{Name: movedLabel, Value: m.from})
	return c, err
}

// put makes the new series, or makes it anew.
func (m *move) put(ctx context.Context, c core.Copy, again bool) error {
	if again {
		_, err := order(ctx, m.r, m.q, func(e core.Engine) (core.Ref, error) {
			return e.Alter(ctx, m.to, func(core.Copy) (core.Copy, error) { return c, nil })
		})
		return err
	}
	out, err := orderOnce(ctx, m.r, m.q, func(e core.Engine, again bool) ([]core.Created, error) {
		out, err := e.Import(ctx, []core.Copy{c}, false)
		if again {
			madeBefore(e, out, func(int) core.Spec { return wholeSpec(&c) })
		}
		return out, err
	})
	if err != nil {
		return err
	}
	if errors.Is(out[0].Err, core.ErrExists) {
		return core.ErrExists
	}
	return out[0].Err
}

// copyMetadata gives the new path the metadata of the old one, if that has any.
func (m *move) copyMetadata(ctx context.Context) error {
	meta, err := order(ctx, m.r, m.p, func(e core.Engine) (core.Metadata, error) { return e.Metadata(m.from) })
	if err != nil || none(&meta) {
		return err
	}
	out, err := order(ctx, m.r, m.q, func(e core.Engine) ([]error, error) {
		return e.SetMetadata(ctx, []core.PathMetadata{{Path: m.to, Metadata: meta}})
	})
	if err != nil {
		return err
	}
	return out[0]
}

// none reports whether m is the zero Metadata.
func none(m *core.Metadata) bool {
	return m.Time == 0 && m.Text == "" && len(m.Attributes) == 0 && m.Expire == 0 && !m.Expired
}

// dropOld drops the old series with its metadata, unless it has changed since c was copied from
// it.
func (m *move) dropOld(ctx context.Context, old core.Ref, c core.Copy) (bool, error) {
	machine, err := rra.Compile(c.Definition)
	if err != nil {
		return false, err
	}
	n, err := order(ctx, m.r, m.p, func(e core.Engine) (int, error) {
		return e.DropSilent(ctx, []core.Silent{{Ref: old, Before: machine.LastUpdate(c.State.W)}})
	})
	return n == 1, err
}

// unmark takes movedLabel from the new series.
func (m *move) unmark(ctx context.Context) error {
	out, err := order(ctx, m.r, m.q, func(e core.Engine) ([]error, error) {
		ref, err := m.r.lookupLeading(m.q, e, m.to)
		if err != nil {
			return nil, err
		}
		x, err := e.Series(ref)
		if err != nil {
			return nil, err
		}
		labels := slices.DeleteFunc(slices.Clone(x.Labels), func(l core.Label) bool { return l.Name == movedLabel })
		return e.Relabel(ctx, []core.PathLabels{{Path: m.to, Labels: labels}})
	})
	if err == nil {
		err = out[0]
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) { // dropped or renamed by another caller
		return m.failed(err)
	}
	return nil
}
