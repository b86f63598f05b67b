package backend

import (
	"context"
	"path"

	"github.com/rondo-db/rondo/query/rrd/rrdclient"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A daemon is a server that speaks rrdcached's protocol.
type daemon struct {
	client *rrdclient.Client
}

// Run has the daemon do what a verb asks of the store; the verb itself runs in this process.
func (d daemon) Run(ctx context.Context, c *Call, args []string) (int, error) {
	env := c.env()
	env.Store, env.Dir = d.client, d.client.Dir()
	return rrdtool.Run(ctx, env, args), nil
}

// Pipe is Run for the commands of standard input.
func (d daemon) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	env := c.pipeEnv(PlainPipe)
	env.Store, env.Dir = d.client, path.Join(d.client.Dir(), c.Folder)
	return kind.pipe(ctx, env, c.Stdin), nil
}
