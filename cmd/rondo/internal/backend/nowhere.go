package backend

import (
	"cmp"
	"context"
	"iter"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// A nowhere is a database that is not there, or that cannot be reached.
type nowhere struct {
	target Target
	why    error // the server cannot be reached; nil: there is no database
}

// Run runs a verb. Verbs that make a series make the database; verbs that read a native file read
// it.
func (n nowhere) Run(ctx context.Context, c *Call, args []string) (int, error) {
	env := c.env()
	if n.why != nil {
		env.Store = absent{n.why}
		return rrdtool.Run(ctx, env, args), nil
	}
	fresh := args[0] == "create" || args[0] == "restore"
	m := newMaker(n.target, nil)
	m.adopts = !fresh
	env.Store = absent{}
	if !c.Plain && !readsNative(env, args) {
		env.Store = absent{n.target.Missing()}
	}
	if name := rrdtool.Changes(args); fresh || name != "" && rrdtool.IsNative(env.Files, name) {
		env.Store = &m
	}
	code := rrdtool.Run(ctx, env, args)
	if m.store != nil {
		if err := m.store.Close(); err != nil {
			return 1, err
		}
	}
	return code, nil
}

// Pipe runs a session that begins without a database. A command that makes a series makes the
// database.
func (n nowhere) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	return runSession(ctx, c, &session{maker: newMaker(n.target, nil), ctx: ctx, in: c.Stdin}, kind)
}

// readsNative says whether a verb reads a native file, which needs no database.
func readsNative(env *rrdtool.Env, args []string) bool {
	for _, name := range append(rrdtool.XportReads(args), rrdtool.Reads(args)) {
		if name != "" && rrdtool.IsNative(env.Files, name) {
			return true
		}
	}
	return false
}

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

// Select yields nothing if there is no database.
func (a absent) Select(context.Context, core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		if a.why != nil {
			yield(core.Series{}, a.why)
		}
	}
}

func (a absent) Update(context.Context, core.Ref, *core.Batch, bool) (int, [][]rra.Run, error) {
	return 0, nil, a.err()
}

func (a absent) Alter(context.Context, string, func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	return 0, a.err()
}

func (a absent) Fetch(context.Context, core.Ref, int, int64, int64) (core.Rows, error) {
	return core.Rows{}, a.err()
}

func (a absent) Export(context.Context, core.Ref) (core.Copy, error) { return core.Copy{}, a.err() }

func (a absent) Import(context.Context, []core.Copy, bool) ([]core.Created, error) {
	return nil, a.err()
}
