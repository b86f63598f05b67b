// Package backend runs rrdtool's verbs, and sessions of pipe mode, where the database is.
//
// [Run] and [Pipe] find out which of three kinds of place that is, and have it do the work:
//
//	local   this process opens the database, or makes it
//	server  a rondo server has the database, and is asked on its socket or by HTTP
//	daemon  another program answers, in rrdcached's protocol
//
// A [Target] says which database or server is meant, a [Call] what the command brings with it.
// Commands that are not verbs of rrdtool use [Target.Open] and work on the [Database] that it
// returns.
//
// A session without a server is local and lets the database go whenever its caller is silent. If a
// server has taken the database meanwhile, the session goes on as one of that server.
package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rrd/rrdclient"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A backend is one of the three kinds of place where a command runs. Each method uses it up: it is
// closed on return. A method that returns an error has not printed it.
type backend interface {
	// Run runs one verb and returns its exit code.
	Run(ctx context.Context, c *Call, args []string) (int, error)
	// Pipe runs the commands of standard input and returns the exit code.
	Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error)
}

// Run runs one of rrdtool's verbs and returns its exit code. What is wrong with the verb has been
// printed; the error, which has not, is of the way to the database.
func Run(ctx context.Context, c *Call, t Target, args []string) (int, error) {
	if !needsDatabase(args) {
		return c.runWithout(ctx, nil, args), nil
	}
	defer c.links.close()
	t.Daemon, args = t.daemonOf(args, c.getenv)
	link, err := c.links.ofTarget(ctx, t)
	switch {
	case err != nil:
		return c.runWithout(ctx, err, args), nil
	case link != nil:
		return daemon{link}.Run(ctx, c, args)
	}
	if c.here, err = c.place(); err != nil {
		return 1, err
	}
	if args, err = c.readFirst(args); err != nil {
		return 1, err
	}
	db, err := t.Open(ctx, core.Options{ReadOnly: !writes(args)}, false)
	if err != nil {
		return 1, err
	}
	return t.backend(db).Run(ctx, c, args)
}

// Pipe runs commands from standard input and returns the exit code. The error has not been printed.
func Pipe(ctx context.Context, c *Call, t Target, kind PipeKind) (int, error) {
	defer c.links.close()
	t.Stays = true
	if t.Daemon == "" {
		t.Daemon = c.getenv(addressVariable)
	}
	link, err := c.links.ofTarget(ctx, t)
	if err != nil {
		return 1, err
	}
	if link != nil {
		return daemon{link}.Pipe(ctx, c, kind)
	}
	if c.here, err = c.place(); err != nil {
		return 1, err
	}
	if c.here, err = c.here.into(c.Folder); err != nil {
		return 1, fmt.Errorf("chdir %s %w", c.Folder, err)
	}
	db, err := t.openForSession(ctx)
	if err != nil {
		return 1, err
	}
	return t.backend(db).Pipe(ctx, c, kind)
}

// backend returns the kind of backend that an opened database is.
func (t Target) backend(db *Database) backend {
	if db.Client != nil {
		return server{db.Client}
	}
	return local{t, db.Store}
}

// runWithout runs a verb that needs no database, or whose server cannot be reached because of why.
func (c *Call) runWithout(ctx context.Context, why error, args []string) int {
	env := c.env()
	env.Store = absent{why}
	return rrdtool.Run(ctx, env, args)
}

// needsDatabase says whether args can mean a series at all.
func needsDatabase(args []string) bool {
	return len(args) > 0 && slices.Contains(slices.Concat(rrdtool.Verbs(), rrdtool.OwnVerbs()), args[0]) && (len(args) > 1 || args[0] == "list")
}

// RefuseDaemon returns an error if t names a server that speaks rrdcached's protocol, which can do
// no more than verbs of rrdtool.
func (t Target) RefuseDaemon(ctx context.Context) error {
	if t.Daemon == "" {
		return nil
	}
	var links daemons
	defer links.close()
	if c, err := links.dial(ctx, t.Daemon); err != nil || c == nil {
		return nil // open says what is wrong
	}
	return fmt.Errorf("%s speaks rrdcached's protocol, which has no words for it: --daemon (or RONDO_DAEMON) must be a rondo server, http://… or unix:…/rondo.sock", t.Daemon)
}

// Must is Open for commands that need a database: none is an error.
func (t Target) Must(ctx context.Context, o core.Options) (*Database, error) {
	if err := t.RefuseDaemon(ctx); err != nil {
		return nil, err
	}
	s, err := t.Open(ctx, o, false)
	if err == nil && s.Client == nil && s.Store == nil {
		return nil, t.Missing()
	}
	return s, err
}

// With calls fn with the target in use, and closes it.
func (t Target) With(ctx context.Context, o core.Options, fn func(*Database) error) (err error) {
	db, err := t.Must(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	return fn(db)
}

// Read is With for what changes nothing.
func (t Target) Read(ctx context.Context, fn func(*Database) error) error {
	return t.With(ctx, core.Options{ReadOnly: true}, fn)
}

// ErrNoServer is in the error of Ask if there is no server.
var ErrNoServer = errors.New("rondo serve starts one, --daemon http://HOST:PORT names another")

// Ask calls fn with the server that runs on the database, or that is named.
func (t Target) Ask(ctx context.Context, fn func(*rpc.Client) error) error {
	if t.Daemon == "" && t.Err == nil && !t.exists() {
		return fmt.Errorf("%w, and no server: %w", t.Missing(), ErrNoServer)
	}
	return t.Read(ctx, func(db *Database) error {
		if db.Client == nil {
			return fmt.Errorf("no server runs on this database: %w", ErrNoServer)
		}
		return fn(db.Client)
	})
}

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

// A local is a database that this process has opened, or that is not there: store is then nil.
type local struct {
	target Target
	store  *core.Store
}

// Run runs a verb. What it prints waits until the database is closed. Without a database, verbs
// that make a series make the database, and verbs that read a native file read it.
func (l local) Run(ctx context.Context, c *Call, args []string) (int, error) {
	out := &heldOutput{to: c.Stdout}
	env := c.env()
	env.Stdout = out
	m := newMaker(l.target, l.store)
	if l.store == nil {
		env.Store = m.ofVerb(c.Plain, env.Files, args)
	} else if env.Store = l.store; !c.Plain {
		env.Extra = l.store
	}
	code := rrdtool.Run(ctx, env, args)
	if err := cmp.Or(m.close(), out.release()); err != nil {
		return 1, err
	}
	return code, nil
}

// ofVerb returns the store for a verb where there is no database.
func (m *maker) ofVerb(plain bool, files rrdtool.Files, args []string) rrdtool.Store {
	native := func(name string) bool { return name != "" && rrdtool.IsNative(files, name) }
	fresh := args[0] == "create" || args[0] == "restore"
	m.adopts = !fresh
	switch {
	case fresh || native(rrdtool.Changes(args)):
		return m
	case plain || slices.ContainsFunc(append(rrdtool.XportReads(args), rrdtool.Reads(args)), native):
		return absent{}
	}
	return absent{m.target.Missing()}
}

// Pipe runs a session. Without a database, a command that makes a series makes it.
func (l local) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	return runSession(ctx, c, &session{maker: newMaker(l.target, l.store), ctx: ctx, in: c.Stdin}, kind)
}
