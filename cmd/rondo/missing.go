package main

import (
	"context"
	"errors"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// missing stands for a database that is not there: it has no series.
type missing struct{}

func (missing) Create(context.Context, core.Spec) (core.Ref, error) {
	return 0, core.ErrNotFound
}
func (missing) Lookup(string) (core.Ref, error)      { return 0, core.ErrNotFound }
func (missing) Series(core.Ref) (core.Series, error) { return core.Series{}, core.ErrNotFound }

func (missing) Info(core.Ref) (core.Info, error) { return core.Info{}, core.ErrNotFound }
func (missing) Last(core.Ref) (rra.Time, error)  { return 0, core.ErrNotFound }
func (missing) List(context.Context, string, string) iter.Seq2[core.Series, error] {
	return func(func(core.Series, error) bool) {}
}

func (missing) Update(context.Context, core.Ref, *core.Batch, bool) (int, [][]rra.Run, error) {
	return 0, nil, core.ErrNotFound
}

func (missing) Alter(context.Context, string, func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return 0, core.ErrNotFound
}

func (missing) Fetch(context.Context, core.Ref, int, int64, int64) (core.Rows, error) {
	return core.Rows{}, core.ErrNotFound
}

func (missing) Export(context.Context, core.Ref) (core.Copy, error) {
	return core.Copy{}, core.ErrNotFound
}

func (missing) Import(context.Context, []core.Copy, bool) ([]core.Created, error) {
	return nil, core.ErrNotFound
}

// A maker is missing until the first series is created, which makes the database: a command
// that is wrong leaves nothing behind.
type maker struct {
	missing
	target
	adopts bool // what is imported is a file that a verb was told to change
	store  *core.Store
}

func (m *maker) Create(ctx context.Context, spec core.Spec) (core.Ref, error) {
	if err := m.make(ctx); err != nil {
		return 0, err
	}
	return m.store.Create(ctx, spec)
}

// make makes the database, if that was not done yet.
func (m *maker) make(ctx context.Context) error {
	if m.store != nil {
		return nil
	}
	if err := m.makes(m.adopts); err != nil {
		return err
	}
	o, err := m.open(ctx, core.Options{}, true)
	if err != nil {
		return err
	}
	if o.store == nil {
		return errors.Join(errors.New("a server has just made this database: try again"), o.close())
	}
	m.store = o.store
	return nil
}

func (m *maker) Import(ctx context.Context, copies []core.Copy, overwrite bool) ([]core.Created, error) {
	if err := m.make(ctx); err != nil {
		return nil, err
	}
	return m.store.Import(ctx, copies, overwrite)
}

func (m *maker) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	return m.now().Export(ctx, ref)
}

// now returns the store, or what stands for it.
func (m *maker) now() rrdtool.Store {
	if m.store == nil {
		return m.missing
	}
	return m.store
}

func (m *maker) Lookup(path string) (core.Ref, error)     { return m.now().Lookup(path) }
func (m *maker) Series(ref core.Ref) (core.Series, error) { return m.now().Series(ref) }
func (m *maker) Info(ref core.Ref) (core.Info, error)     { return m.now().Info(ref) }
func (m *maker) Last(ref core.Ref) (rra.Time, error)      { return m.now().Last(ref) }

func (m *maker) List(ctx context.Context, prefix, after string) iter.Seq2[core.Series, error] {
	return m.now().List(ctx, prefix, after)
}

func (m *maker) Update(ctx context.Context, ref core.Ref, b *core.Batch, trace bool) (int, [][]rra.Run, error) {
	return m.now().Update(ctx, ref, b, trace)
}

func (m *maker) Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return m.now().Alter(ctx, path, change)
}

func (m *maker) Fetch(ctx context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error) {
	return m.now().Fetch(ctx, ref, archive, start, end)
}

// Append and Renames make a maker take the updates of many lines at once: there are none before there is a database.

func (m *maker) Append(ctx context.Context, b *core.Batch) error {
	if m.store == nil {
		return core.ErrNotFound
	}
	return m.store.Append(ctx, b)
}

func (m *maker) Renames() uint64 {
	if m.store == nil {
		return 0
	}
	return m.store.Renames()
}
