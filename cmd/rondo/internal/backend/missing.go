package backend

import (
	"context"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A missing stands for the store of a database that is not there: it has no series.
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

// An unreachable stands for the store of a server that cannot be reached. A mistake in the command
// itself is told before that.
type unreachable struct {
	missing
	err error
}

// Lookup returns why the server cannot be reached.
func (u unreachable) Lookup(string) (core.Ref, error) { return 0, u.err }

// Create returns why the server cannot be reached.
func (u unreachable) Create(context.Context, core.Spec) (core.Ref, error) { return 0, u.err }

// Import returns why the server cannot be reached.
func (u unreachable) Import(context.Context, []core.Copy, bool) ([]core.Created, error) {
	return nil, u.err
}

// List returns why the server cannot be reached.
func (u unreachable) List(context.Context, string, string) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) { yield(core.Series{}, u.err) }
}
