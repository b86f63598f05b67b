package backend

import (
	"context"
	"errors"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// A maker is the store of a database that its first series makes. Until then it has no series, and
// a command that is wrong leaves nothing behind.
type maker struct {
	missing
	target Target
	adopts bool // what is imported is a file that a verb was told to change
	store  *core.Store
}

func (m *maker) Create(ctx context.Context, spec core.Spec) (core.Ref, error) {
	if err := m.make(ctx); err != nil {
		return 0, err
	}
	return m.store.Create(ctx, spec)
}

// make makes the database unless it is there.
func (m *maker) make(ctx context.Context) error {
	if m.store != nil {
		return nil
	}
	if err := m.target.makes(m.adopts); err != nil {
		return err
	}
	o, err := m.target.Open(ctx, core.Options{}, true)
	if err != nil {
		return err
	}
	if o.Store == nil {
		return errors.Join(errors.New("a server has just made this database: try again"), o.Close())
	}
	m.store = o.Store
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

// now returns the store, or what stands for it while there is no database.
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

// Append and Renames let pipe mode store the updates of many lines at once.

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
