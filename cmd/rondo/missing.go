package main

import (
	"context"
	"errors"
	"iter"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/query/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// missing stands for a database that is not there: it has no series.
type missing struct{}

func (missing) Create(context.Context, engine.Spec) (engine.Ref, error) {
	return 0, engine.ErrNotFound
}
func (missing) Lookup(string) (engine.Ref, error)        { return 0, engine.ErrNotFound }
func (missing) Series(engine.Ref) (engine.Series, error) { return engine.Series{}, engine.ErrNotFound }

func (missing) Info(engine.Ref) (engine.Info, error) { return engine.Info{}, engine.ErrNotFound }
func (missing) Last(engine.Ref) (rra.Time, error)    { return 0, engine.ErrNotFound }
func (missing) List(context.Context, string, string) iter.Seq2[engine.Series, error] {
	return func(func(engine.Series, error) bool) {}
}

func (missing) Update(context.Context, engine.Ref, *engine.Batch, bool) (int, [][]rra.Run, error) {
	return 0, nil, engine.ErrNotFound
}

func (missing) Alter(context.Context, string, func(engine.Copy) (engine.Copy, error)) (engine.Ref, error) {
	return 0, engine.ErrNotFound
}

func (missing) Fetch(context.Context, engine.Ref, int, int64, int64) (engine.Rows, error) {
	return engine.Rows{}, engine.ErrNotFound
}

func (missing) Export(context.Context, engine.Ref) (engine.Copy, error) {
	return engine.Copy{}, engine.ErrNotFound
}

func (missing) Import(context.Context, []engine.Copy, bool) ([]engine.Created, error) {
	return nil, engine.ErrNotFound
}

// A maker is missing until the first series is created, which makes the database: a command
// that is wrong leaves nothing behind.
type maker struct {
	missing
	target
	store *engine.Store
}

func (m *maker) Create(ctx context.Context, spec engine.Spec) (engine.Ref, error) {
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
	o, err := m.open(ctx, engine.Options{}, true)
	if err != nil {
		return err
	}
	if o.store == nil {
		return errors.Join(errors.New("a server has just made this database: try again"), o.close())
	}
	m.store = o.store
	return nil
}

func (m *maker) Import(ctx context.Context, copies []engine.Copy, overwrite bool) ([]engine.Created, error) {
	if err := m.make(ctx); err != nil {
		return nil, err
	}
	return m.store.Import(ctx, copies, overwrite)
}

func (m *maker) Export(ctx context.Context, ref engine.Ref) (engine.Copy, error) {
	return m.now().Export(ctx, ref)
}

// now returns the store, or what stands for it.
func (m *maker) now() rrdtool.Store {
	if m.store == nil {
		return m.missing
	}
	return m.store
}

func (m *maker) Lookup(path string) (engine.Ref, error)       { return m.now().Lookup(path) }
func (m *maker) Series(ref engine.Ref) (engine.Series, error) { return m.now().Series(ref) }
func (m *maker) Info(ref engine.Ref) (engine.Info, error)     { return m.now().Info(ref) }
func (m *maker) Last(ref engine.Ref) (rra.Time, error)        { return m.now().Last(ref) }

func (m *maker) List(ctx context.Context, prefix, after string) iter.Seq2[engine.Series, error] {
	return m.now().List(ctx, prefix, after)
}

func (m *maker) Update(ctx context.Context, ref engine.Ref, b *engine.Batch, trace bool) (int, [][]rra.Run, error) {
	return m.now().Update(ctx, ref, b, trace)
}

func (m *maker) Alter(ctx context.Context, path string, change func(engine.Copy) (engine.Copy, error)) (engine.Ref, error) {
	return m.now().Alter(ctx, path, change)
}

func (m *maker) Fetch(ctx context.Context, ref engine.Ref, archive int, start, end int64) (engine.Rows, error) {
	return m.now().Fetch(ctx, ref, archive, start, end)
}

// Append and Renames make a maker take the updates of many lines at once: there are none before there is a database.

func (m *maker) Append(ctx context.Context, b *engine.Batch) error {
	if m.store == nil {
		return engine.ErrNotFound
	}
	return m.store.Append(ctx, b)
}

func (m *maker) Renames() uint64 {
	if m.store == nil {
		return 0
	}
	return m.store.Renames()
}
