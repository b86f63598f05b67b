package backend

import (
	"context"
	"fmt"
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

// Run runs a verb. Verbs that make a series make the database; verbs that read a native file read it.
func (n nowhere) Run(ctx context.Context, c *Call, args []string) (int, error) {
	env := c.env()
	if n.why != nil {
		env.Store = unreachable{err: n.why}
		return rrdtool.Run(ctx, env, args), nil
	}
	if len(args) == 1 { // list: an empty answer would look like an empty database
		_, _ = fmt.Fprintln(c.Stderr, n.target.Missing()) // nobody is left to tell
	}
	fresh := args[0] == "create" || args[0] == "restore"
	m := &maker{target: n.target, adopts: !fresh}
	env.Store = missing{}
	if !c.Plain && !writes(args) && len(args) > 1 && !readsNative(env, args) {
		env.Store = unreachable{err: n.target.Missing()}
	}
	if name := rrdtool.Changes(args); fresh || name != "" && rrdtool.IsNative(env.Files, name) {
		env.Store = m
	}
	code := rrdtool.Run(ctx, env, args)
	if m.store != nil {
		if err := m.store.Close(); err != nil {
			return 1, err
		}
	}
	return code, nil
}

// Pipe runs a session that begins without a database. A command that makes a series makes the database.
func (n nowhere) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	return runSession(ctx, c, &session{maker: maker{target: n.target}, ctx: ctx, in: c.Stdin}, kind)
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

// An unreachable stands for the store of a server that cannot be reached. A mistake in the command itself
// is told before that.
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
