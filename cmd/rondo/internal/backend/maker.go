package backend

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A maker is a store whose database is made by its first series. Until then it has no series, and a
// wrong command leaves no database behind.
type maker struct {
	seriesStore // store, or an absent while store is nil

	target Target
	adopts bool // an import takes in a native file that a verb has to change
	store  *core.Store
}

// A seriesStore is what a session needs of a store.
type seriesStore interface {
	rrdtool.Store
	rrdtool.Extra
}

func newMaker(t Target, s *core.Store) maker {
	m := maker{target: t}
	m.use(s)
	return m
}

// use makes s the store; nil: there is no database.
func (m *maker) use(s *core.Store) {
	m.store, m.seriesStore = s, absent{}
	if s != nil {
		m.seriesStore = s
	}
}

// close closes the store, if there is one.
func (m *maker) close() error {
	if m.store == nil {
		return nil
	}
	return m.store.Close()
}

// make makes the database unless it exists.
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
	m.use(o.Store)
	return nil
}

func (m *maker) Create(ctx context.Context, spec core.Spec) (core.Ref, error) {
	if err := m.make(ctx); err != nil {
		return 0, err
	}
	return m.store.Create(ctx, spec)
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
