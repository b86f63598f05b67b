package backend

import (
	"context"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
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
