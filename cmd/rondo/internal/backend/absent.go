package backend

import (
	"cmp"
	"context"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// An absent is the store of a database that does not exist, or whose server cannot be reached. It
// has no series. A mistake in the command itself is reported before the store is used.
type absent struct {
	why error // why the server cannot be reached; nil: there is no database
}

func (a absent) err() error { return cmp.Or(a.why, core.ErrNotFound) }

func (a absent) Create(context.Context, core.Spec) (core.Ref, error) { return 0, a.err() }
func (a absent) Lookup(string) (core.Ref, error)                     { return 0, a.err() }
func (a absent) Series(core.Ref) (core.Series, error)                { return core.Series{}, a.err() }
func (a absent) Info(core.Ref) (core.Info, error)                    { return core.Info{}, a.err() }
func (a absent) Last(core.Ref) (rra.Time, error)                     { return 0, a.err() }

func (a absent) Metadata(string) (core.Metadata, error) { return core.Metadata{}, a.err() }

func (a absent) Notes(context.Context, string) (map[string][]core.Note, error) {
	return nil, a.err()
}

// Select yields nothing if there is no database.
func (a absent) Select(context.Context, core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		if a.why != nil {
			yield(core.Series{}, a.why)
		}
	}
}

func (a absent) Update(context.Context, core.Ref, *core.Batch) (int, error) {
	return 0, a.err()
}

func (a absent) Alter(context.Context, string, func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return 0, a.err()
}

func (a absent) Fetch(context.Context, core.Ref, int, int64, int64) (core.Rows, error) {
	return core.Rows{}, a.err()
}

func (a absent) Export(context.Context, core.Ref) (core.Copy, error) { return core.Copy{}, a.err() }
