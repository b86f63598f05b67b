package backend

import (
	"context"
	"errors"
	"io"

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
	if err := firstError(l.store.Close(), out.release()); err != nil {
		return 1, err
	}
	return code, nil
}

// Pipe runs a session that begins with the database open.
func (l local) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	return runSession(ctx, c, &session{maker: maker{target: l.target, store: l.store}, ctx: ctx, in: c.Stdin}, kind)
}

// runSession runs the commands of standard input on the database of this process. If a server takes the
// database, the server runs the rest.
func runSession(ctx context.Context, c *Call, s *session, kind PipeKind) (code int, err error) {
	defer func() { err = firstError(err, s.letGo()) }()
	env := c.pipeEnv(kind)
	env.Store = s
	if kind == OwnPipe {
		env.Extra = s
	}
	if kind == FramedPipe {
		env.Seen, env.Made = nil, nil // the program sees to it
		return kind.pipe(ctx, env, &impatient{ctx: ctx, in: c.Stdin}), nil
	}
	code = kind.pipe(ctx, env, s)
	if s.server == nil {
		if errors.Is(s.err, io.EOF) {
			return code, nil
		}
		return code, s.err
	}
	going := *c
	going.Stdin, going.here.dir = s, env.Dir
	return server{s.server}.Pipe(ctx, &going, kind)
}
