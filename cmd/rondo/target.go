package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/unixsocket"
	"github.com/rondo-db/rondo/wal"
)

// How long a command waits for a database that another process holds while no server answers: a server
// that is starting, or another command.
const (
	lockPatience = 10 * time.Second
	lockPoll     = 20 * time.Millisecond
)

// A target is what a command works on.
type target struct {
	db     string // the database's folder
	daemon string // the address of a server to use in its place; empty: none
	sync   string // when samples count as stored, where no server says so; empty: always
	stays  bool   // the command goes on for long: a store writes checkpoints by itself
	named  bool   // a flag, the environment or the configuration file says where the database is
	strict bool   // only a database that is named is made: rondo is called rrdtool, or by its modules
	err    error  // of the configuration file
}

// An opened is a target in use: a server, a store, or neither, if there is no database.
type opened struct {
	client *rpc.Client
	store  *core.Store
}

// open connects to the server of t, or opens the store itself if none runs. With create it makes a
// database that is not there; without, it returns neither server nor store for it.
func (t target) open(ctx context.Context, o core.Options, create bool) (*opened, error) {
	if t.err != nil {
		return nil, t.err
	}
	if t.daemon != "" {
		c, err := rpc.Dial(ctx, t.daemon)
		if err != nil {
			return nil, err
		}
		return &opened{client: c}, nil
	}
	if !create && !t.exists() {
		return &opened{}, nil
	}
	if t.sync != "" {
		var mode syncMode
		if err := mode.Set(t.sync); err != nil {
			return nil, fmt.Errorf("--sync %s (or RONDO_SYNC): %w", t.sync, err)
		}
		o.Sync = wal.Sync(mode)
	}
	o.Owner = "rondo (command line)"
	o.NoBackground = !t.stays
	deadline := time.Now().Add(lockPatience)
	for {
		c, noServer := rpc.DialLocal(ctx, t.db)
		if noServer == nil {
			return &opened{client: c}, nil
		}
		if errors.Is(noServer, rpc.ErrSilent) || ctx.Err() != nil {
			return nil, noServer
		}
		s, err := core.Open(t.db, o)
		if err == nil {
			return &opened{store: s}, nil
		}
		if errors.Is(err, core.ErrLocked) && errors.Is(noServer, unixsocket.ErrNoSocket) { // waiting would not help
			return nil, fmt.Errorf("%w, and nobody can reach it: %w. Move it away and start the server again", err, noServer)
		}
		if errors.Is(err, fs.ErrPermission) && (noServer == nil || !errors.Is(err, core.ErrLocked)) {
			return nil, fmt.Errorf("%w: the database is another user's. Run the command as that user; while rondo serve runs, members of its --socket-group may use it, too", err)
		}
		if errors.Is(err, core.ErrLocked) && time.Now().After(deadline) && errors.Is(noServer, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w, and %s is not there: if that is a server, it is still starting, or its socket was removed", err, filepath.Join(t.folder(), rpc.SocketName))
		}
		if !errors.Is(err, core.ErrLocked) || time.Now().After(deadline) {
			return nil, err
		}
		if errors.Is(noServer, fs.ErrPermission) { // waiting would not help
			return nil, fmt.Errorf("%w, whose socket is its owner's alone: %w", err, noServer)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// exists says whether the folder holds a database, or a part of one, or cannot be looked into: to open
// any other folder would put a database there.
func (t target) exists() bool {
	for _, name := range []string{databaseFile, logFolder} {
		if _, err := os.Stat(filepath.Join(t.db, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// missing says that there is no database, and where it was looked for.
func (t target) missing() error {
	return fmt.Errorf("there is no database in %s (--db, or RONDO_DB, says where it is)", t.folder())
}

// folder is where the database is, from the root of the file system.
func (t target) folder() string {
	if abs, err := filepath.Abs(t.db); err == nil {
		return abs
	}
	return t.db
}

// makes returns an error if a command must not make the database, because nobody has said where it
// is: a program that uses rondo as rrdtool would leave one in each folder that it is run in. adopts
// says that the command means a file which the new database would take in.
func (t target) makes(adopts bool) error {
	switch {
	case t.named:
		return nil
	case t.strict:
		return fmt.Errorf("there is no database in %s, and none is made where nobody asked for it: say where it is to be, by RONDO_DB or by db: in %s", t.folder(), systemConfig)
	case adopts:
		return fmt.Errorf("there is no database in %s: rondo create, restore, import and serve make one, and this command does if --db or RONDO_DB names it", t.folder())
	}
	return nil
}

// wholly refuses a server that speaks rrdcached's protocol: that has words for verbs of rrdtool alone.
func (t target) wholly(ctx context.Context) error {
	if t.daemon == "" {
		return nil
	}
	var d daemons
	defer d.close()
	if c, err := d.dial(ctx, t.daemon); err != nil || c == nil {
		return nil // open says what is wrong
	}
	return fmt.Errorf("%s speaks rrdcached's protocol, which has no words for it: --daemon (or RONDO_DAEMON) must be a rondo server, http://… or unix:…/rondo.sock", t.daemon)
}

// must is open for commands that make no sense without a database.
func (t target) must(ctx context.Context, o core.Options) (*opened, error) {
	if err := t.wholly(ctx); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, o, false)
	if err == nil && s.client == nil && s.store == nil {
		return nil, t.missing()
	}
	return s, err
}

func (o *opened) close() error {
	if o.client != nil {
		o.client.Close()
	}
	if o.store != nil {
		return o.store.Close()
	}
	return nil
}
