package backend

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A backend is one of the four kinds of place where a command runs. Each method uses it up: it is closed
// on return. A method that returns an error has not told it.
type backend interface {
	// Run runs one verb and returns its exit code.
	Run(ctx context.Context, c *Call, args []string) (int, error)
	// Pipe runs the commands of standard input and returns the exit code.
	Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error)
}

// A PipeKind says how the commands and answers of a session look.
type PipeKind int

const (
	PlainPipe  PipeKind = iota // rrdtool's pipe mode
	OwnPipe                    // the same with rondo's verbs
	FramedPipe                 // for programs: rrdtool.Frames
)

// A Call is what a command brings with it from its process. It serves for one Run or Pipe.
type Call struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	Now            func() time.Time
	// Plain has a verb print what rrdtool prints, and nothing else.
	Plain bool
	// Base is the folder of files that the database stands for; empty: there is none.
	Base string
	// HidesFiles has no files made where programs look for them.
	HidesFiles bool
	// Folder is where a session begins; empty: at the working folder.
	Folder string

	here  Place
	links daemons // of the option --daemon of verbs
}

func (c *Call) getenv(name string) string {
	v, _ := c.LookupEnv(name)
	return v
}

// env returns the surroundings of a verb of this process, without a store.
func (c *Call) env() *rrdtool.Env {
	env := &rrdtool.Env{
		Files: rrdtool.OSFiles{}, Rondo: !c.Plain, Connect: c.links.connect,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		Now: c.Now, Getenv: c.getenv,
	}
	c.here.Set(env)
	return env
}

// pipeEnv returns the surroundings of a session of this process, without a store.
func (c *Call) pipeEnv(kind PipeKind) *rrdtool.Env {
	env := c.env()
	env.Stdin, env.Rondo = nil, kind == OwnPipe
	return env
}

// pipe runs the commands of a session of this process.
func (kind PipeKind) pipe(ctx context.Context, env *rrdtool.Env, in io.Reader) int {
	if kind == FramedPipe {
		return rrdtool.Frames(ctx, env, in)
	}
	return rrdtool.Pipe(ctx, env, in)
}

// writing are the verbs that change the store.
var writing = []string{"create", "update", "updatev", "tune", "resize", "alter", "restore", "flushcached"}

func writes(args []string) bool { return slices.Contains(writing, args[0]) }

// Run runs one of rrdtool's verbs and returns its exit code. What is wrong with the verb has been printed;
// the error, which has not, is of the way to the database.
func Run(ctx context.Context, c *Call, t Target, args []string) (int, error) {
	if !needsDatabase(args) {
		env := c.env()
		env.Store = missing{}
		return rrdtool.Run(ctx, env, args), nil
	}
	defer c.links.close()
	t.Daemon, args = t.daemonOf(args, c.getenv)
	link, err := c.links.ofTarget(ctx, t)
	switch {
	case err != nil:
		return nowhere{t, err}.Run(ctx, c, args)
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
	switch {
	case db.Client != nil:
		return server{db.Client}
	case db.Store != nil:
		return local{t, db.Store}
	}
	return nowhere{t, nil}
}

// needsDatabase says whether args can mean a series at all.
func needsDatabase(args []string) bool {
	return len(args) > 0 && slices.Contains(slices.Concat(rrdtool.Verbs(), rrdtool.OwnVerbs()), args[0]) && (len(args) > 1 || args[0] == "list")
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
