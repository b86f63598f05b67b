package backend

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

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
	// Base is the folder of files that the database stands for; empty means no folder.
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

// place returns what file names mean in the working folder.
func (c *Call) place() (Place, error) { return PlaceOf(c.Base, c.HidesFiles) }

// request returns the request to run args, with the surroundings of this process.
func (c *Call) request(args []string, plain bool) *rondov1.ExecRequest {
	req := &rondov1.ExecRequest{Argv: args, Plain: plain, Environment: make(map[string]string), NowUs: c.Now().UnixMicro()}
	for _, name := range rrdtool.Variables {
		if v, ok := c.LookupEnv(name); ok {
			req.Environment[name] = v
		}
	}
	c.here.describe(req)
	return req
}
