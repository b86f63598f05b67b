package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The labels of a series that is being moved to the partition of its new path. A move that was
// interrupted is recognised by them.
const (
	movedLabel = "rondo_moved_from" // its value is the old path
	// Its value is the reference of the series that was copied, and the last update of the copy in
	// microseconds. A series with a later last update has got samples by its new path.
	copiedLabel = "rondo_moved_copy"
)

// moveTries is how often a move copies a series that gets samples meanwhile.
const moveTries = 100

// Rename is core.Store's. If the new path belongs to another partition, the series is moved. It
// then has another reference. While it is moved, both paths are series, and the new one has the
// labels rondo_moved_from and rondo_moved_copy. If Rename is interrupted, by an error or by the end
// of the process, no sample is lost. Then Rename with the same paths finishes the move. If both
// paths have changed since the copy, Rename keeps both and its error wraps core.ErrExists: the
// caller drops the path whose samples are not wanted, and renames again.
//
// Labels and metadata that are changed during the move may be lost.
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
		ctx = r.numbered(ctx, p, 1)
		return r.write(ctx, p, func(e core.Engine) error { return e.Rename(ctx, path, to) })
	}
	m := move{r: r, from: from, to: to, p: p, q: q}
	return m.run(ctx)
}

// A move is a rename from partition p to partition q:
//
//  1. the series is copied: both paths are series, the new one with movedLabel and copiedLabel
//  2. the metadata of the old path is copied
//  3. the old path is dropped, unless it has had samples since step 1: then the copy is made anew
//  4. the two labels are taken away
//
// After each step, and within each, one of the paths at least is a whole series. A move that finds
// the new path with movedLabel goes on where an earlier one has stopped. A copy is made anew only
// over a copy that has got no samples by its new path. A copy that has got some stays; it is whole
// unless the old path has got samples, too.
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
			err = m.put(ctx, old, c, begun)
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

// Errors within a move.
var (
	// errMoved says that the old path has another series by now.
	errMoved = errors.New("the series has changed")
	// errKept says that the new path has all that the old one has, and samples of its own.
	errKept = errors.New("the new series has more than the copy")
	// errBoth says that neither path has all.
	errBoth = fmt.Errorf("both paths have changed since the series was copied: drop one of them, then rename again: %w", core.ErrExists)
)

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
		x, err = order(ctx, m.r, m.q, func(e core.Engine) (core.Series, error) { return core.SeriesOf(ctx, e, ref) })
	}
	if err != nil {
		return false, m.failed(err)
	}
	if !slices.Contains(x.Labels, core.Label{Name: movedLabel, Value: m.from}) {
		return false, m.failed(core.ErrExists)
	}
	return true, nil
}

// copyOf returns the old series under its new path, with movedLabel and copiedLabel.
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
	if err != nil {
		return core.Copy{}, err
	}
	until, err := lastUpdate(&c)
	c.Path = m.to
	c.Labels = append(withoutMarks(c.Labels), core.Label{Name: movedLabel, Value: m.from}, copyOfAt(old, until))
	return c, err
}

func lastUpdate(c *core.Copy) (rra.Time, error) {
	machine, err := rra.Compile(c.Definition)
	if err != nil {
		return 0, err
	}
	return machine.LastUpdate(c.State.W), nil
}

// copyOfAt returns the copiedLabel of a copy of a series.
func copyOfAt(old core.Ref, until rra.Time) core.Label {
	return core.Label{Name: copiedLabel, Value: fmt.Sprintf("%d %d", old, int64(until))}
}

// withoutMarks returns labels without movedLabel and copiedLabel.
func withoutMarks(labels []core.Label) []core.Label {
	return slices.DeleteFunc(slices.Clone(labels), func(l core.Label) bool { return l.Name == movedLabel || l.Name == copiedLabel })
}

// renewed returns what the new series becomes when c was copied from the old one: c, if that is the
// series that now is a copy of, and now has got no sample by its new path. Otherwise the error is
// errKept or errBoth.
func renewed(now, c *core.Copy, old core.Ref) (core.Copy, error) {
	there, err := lastUpdate(now)
	if err != nil {
		return core.Copy{}, err
	}
	until, err := lastUpdate(c)
	if err != nil {
		return core.Copy{}, err
	}
	copied := func(at rra.Time) bool { return slices.Contains(now.Labels, copyOfAt(old, at)) }
	switch {
	case copied(there):
		return *c, nil
	case copied(until):
		return core.Copy{}, errKept
	}
	return core.Copy{}, errBoth
}

// put makes the new series, or makes it anew.
func (m *move) put(ctx context.Context, old core.Ref, c core.Copy, again bool) error {
	ctx = m.r.numbered(ctx, m.q, 1)
	if again {
		_, err := order(ctx, m.r, m.q, func(e core.Engine) (core.Ref, error) {
			return e.Alter(ctx, m.to, func(now core.Copy) (core.Copy, error) { return renewed(&now, &c, old) })
		})
		if errors.Is(err, errKept) {
			err = nil
		}
		return err
	}
	out, err := order(ctx, m.r, m.q, func(e core.Engine) ([]core.Created, error) { return core.Import(ctx, e, []core.Copy{c}, false) })
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
	meta, err := order(ctx, m.r, m.p, func(e core.Engine) (core.Metadata, error) { return core.MetadataOf(ctx, e, m.from) })
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
	until, err := lastUpdate(&c)
	if err != nil {
		return false, err
	}
	ctx = m.r.numbered(ctx, m.p, 1)
	out, err := order(ctx, m.r, m.p, func(e core.Engine) ([]error, error) {
		return e.Drop(ctx, []core.Dropping{{Ref: old, Before: until}})
	})
	return err == nil && out[0] == nil, err
}

// unmark takes movedLabel and copiedLabel from the new series.
func (m *move) unmark(ctx context.Context) error {
	out, err := order(ctx, m.r, m.q, func(e core.Engine) ([]error, error) {
		ref, err := m.r.lookupLeading(m.q, e, m.to)
		if err != nil {
			return nil, err
		}
		x, err := core.SeriesOf(ctx, e, ref)
		if err != nil {
			return nil, err
		}
		return e.Relabel(ctx, []core.PathLabels{{Path: m.to, Labels: withoutMarks(x.Labels)}})
	})
	if err == nil {
		err = out[0]
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) { // dropped or renamed by another caller
		return m.failed(err)
	}
	return nil
}
