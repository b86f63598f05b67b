package backend

import (
	"cmp"
	"context"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A local is a database that this process has opened.
type local struct {
	target Target
	store  *core.Store
}

// Run runs a verb. What it prints waits until the database is closed.
func (l local) Run(ctx context.Context, c *Call, args []string) (int, error) {
	out := &heldOutput{to: c.Stdout}
	env := c.env()
	env.Store, env.Stdout = l.store, out
	if !c.Plain {
		env.Extra = l.store
	}
	code := rrdtool.Run(ctx, env, args)
	if err := cmp.Or(l.store.Close(), out.release()); err != nil {
		return 1, err
	}
	return code, nil
}

// Pipe runs a session that begins with the database open.
func (l local) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	return runSession(ctx, c, &session{maker: newMaker(l.target, l.store), ctx: ctx, in: c.Stdin}, kind)
}
