package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/unixsocket"
)

// How long, and how often, a command tries to open a database that another process has while no
// server answers. The other process is a server that starts, or another command.
const (
	lockPatience = 10 * time.Second
	lockPoll     = 20 * time.Millisecond
)

// Open connects to the server of t, or opens the store itself if none runs. With create it makes a
// database that is not there. It waits up to ten seconds for a database that another command has.
func (t Target) Open(ctx context.Context, o core.Options, create bool) (*Database, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	if t.Daemon != "" {
		c, err := t.dial(ctx)
		if err != nil {
			return nil, err
		}
		return &Database{Client: c}, nil
	}
	if err := t.checkFolder(); err != nil {
		return nil, err
	}
	if !create && !t.exists() {
		return &Database{}, nil
	}
	if create {
		if err := t.Makeable(); err != nil {
			return nil, err
		}
	}
	if t.Sync != "" {
		mode, err := ParseSync(t.Sync)
		if err != nil {
			return nil, fmt.Errorf("--sync %s (or RONDO_SYNC): %w", t.Sync, err)
		}
		o.Sync = mode
	}
	o.Owner = "rondo (command line)"
	o.NoBackground = !t.Stays
	deadline := time.Now().Add(lockPatience)
	w, held := t.wait(), ""
	defer w.end()
	for {
		w.on(cmp.Or(held, "for the server at "+filepath.Join(t.Folder(), rpc.SocketName)+" to answer"))
		c, noServer := rpc.DialLocal(ctx, t.DB)
		w.on(held)
		if noServer == nil {
			return &Database{Client: c}, nil
		}
		if errors.Is(noServer, rpc.ErrSilent) || ctx.Err() != nil {
			return nil, noServer
		}
		s, err := t.openStore(o, noServer)
		if err == nil {
			return &Database{Store: s}, nil
		}
		held = fmt.Sprintf("up to %v: %v", lockPatience, err)
		w.on(held)
		if err := t.hopeless(err, noServer, time.Now().After(deadline)); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// openStore opens the database, whose server could not be reached.
func (t Target) openStore(o core.Options, noServer error) (*core.Store, error) {
	if IsNode(t.DB) {
		return nil, fmt.Errorf("%s is the folder of a node of a cluster, and its server does not run (%w): rondo serve --cluster starts it, and --daemon names another node", t.Folder(), noServer)
	}
	return core.Open(t.DB, o)
}

// hopeless returns why a command must not wait any longer for a database that it could not open,
// err, and whose server it could not reach, noServer. Nil: the command is to try again.
func (t Target) hopeless(err, noServer error, late bool) error {
	locked := errors.Is(err, core.ErrLocked)
	switch {
	case locked && errors.Is(noServer, unixsocket.ErrNoSocket): // the lock will stay
		return fmt.Errorf("%w, and nobody can reach it: %w. Move it away and start the server again", err, noServer)
	case errors.Is(err, fs.ErrPermission) && !locked:
		return fmt.Errorf("%w: the database is another user's. Run the command as that user; while rondo serve runs, members of its --socket-group may use it, too", err)
	case locked && late && errors.Is(noServer, fs.ErrNotExist):
		return fmt.Errorf("%w, and %s is not there: if that is a server, it is still starting, or its socket was removed", err, filepath.Join(t.Folder(), rpc.SocketName))
	case !locked || late:
		return err
	case errors.Is(noServer, fs.ErrPermission): // the socket will stay as it is
		return fmt.Errorf("%w, whose socket is its owner's alone: %w", err, noServer)
	}
	return nil
}

// openForSession opens the target for a session, which both reads and writes. A caller who may not
// write gets the database for reading.
func (t Target) openForSession(ctx context.Context) (*Database, error) {
	db, err := t.Open(ctx, core.Options{}, false)
	if errors.Is(err, fs.ErrPermission) {
		if reading, e := t.Open(ctx, core.Options{ReadOnly: true}, false); e == nil {
			return reading, nil
		}
	}
	return db, err
}
