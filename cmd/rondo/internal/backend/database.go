package backend

import (
	"context"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/client"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Database is a target in use: the server that has it, or the store that this process has opened.
// Both are nil if there is no database.
type Database struct {
	Client *rpc.Client
	Store  *core.Store
}

// Close closes the store, or the idle connections to the server.
func (d *Database) Close() error {
	if d.Client != nil {
		d.Client.Close()
	}
	if d.Store != nil {
		return d.Store.Close()
	}
	return nil
}

// API returns the service of the server, or one over the store that this process has opened.
func (d *Database) API() rondov1.RondoCalls {
	if d.Client != nil {
		return d.Client.RondoClient
	}
	return &rpc.Server{Store: d.Store}
}

// Backup writes a consistent copy of the database to w, or what has changed since the backup with
// the head base. Of that backup a server is sent the head only.
func (d *Database) Backup(ctx context.Context, w io.Writer, base *core.BackupHead) error {
	if d.Store != nil {
		return d.Store.BackupSince(ctx, w, base)
	}
	var since []byte
	if base != nil {
		since, _ = base.AppendBinary(nil) // it does not fail
	}
	return Explain((&client.Client{API: d.Client}).BackupSince(ctx, w, since))
}

// Check returns what is broken in the database.
func (d *Database) Check(ctx context.Context) ([]core.Problem, error) {
	if d.Store != nil {
		return d.Store.Check(ctx)
	}
	stream, err := d.Client.Check(ctx, &rondov1.CheckRequest{})
	if err != nil {
		return nil, Explain(err)
	}
	defer func() { _ = stream.Close() }() // an error of it would say nothing new
	var problems []core.Problem
	for stream.Receive() {
		problems = append(problems, core.Problem{Where: stream.Msg().GetWhere(), What: stream.Msg().GetWhat()})
	}
	if err := stream.Err(); err != nil {
		return nil, Explain(err)
	}
	return problems, nil
}

// Explain returns the error of a server's answer in words for the user of the command line.
func Explain(err error) error {
	if errors.Is(err, rpc.ErrEnded) {
		return rpc.ErrEnded
	}
	if e, ok := errors.AsType[*connect.Error](err); ok && e.Code() == connect.CodeUnimplemented && !errors.As(err, new(*rpc.UnreachedError)) {
		return fmt.Errorf("the server is older than this rondo: it %s", e.Message())
	}
	return err
}
