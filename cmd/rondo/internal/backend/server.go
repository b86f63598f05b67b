package backend

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// A server is a rondo server. It is closed when its Run or Pipe returns.
type server struct {
	client *rpc.Client
}

// Run has the server run a verb. The files that the verb reads and writes are this process's: they
// are read and written here.
func (s server) Run(ctx context.Context, c *Call, args []string) (int, error) {
	defer s.client.Close()
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return 1, fmt.Errorf("'%s' is no UTF-8, which what a server is asked for must be", arg)
		}
	}
	env := c.env()
	store, err := s.storeHere(ctx, env, args)
	if err != nil {
		return 1, err
	}
	if store != nil {
		env.Store = store
		return rrdtool.Run(ctx, env, args), nil
	}
	if err := rrdtool.Taken(env, args); err != nil {
		return 1, err
	}
	for _, name := range append(rrdtool.Sources(args), rrdtool.Changes(args)) {
		if err := s.adopt(ctx, env, name); err != nil {
			return 1, err
		}
	}
	return s.runThere(ctx, c, env, args)
}

// storeHere returns the store for a verb that runs in this process, as those that read native files
// do; nil: the server runs the verb.
func (s server) storeHere(ctx context.Context, env *rrdtool.Env, args []string) (rrdtool.Store, error) {
	if name := rrdtool.Reads(args); name != "" && rrdtool.IsNative(env.Files, name) {
		known, err := s.hasSeries(ctx, env, name)
		if err != nil {
			return nil, err
		}
		if !known {
			return absent{}, nil
		}
	}
	native, err := s.anyNative(ctx, env, rrdtool.XportReads(args))
	if err != nil || !native && !s.drawsHere(args) {
		return nil, err
	}
	return newServed(ctx, s.client), nil
}

// drawsHere says whether this process draws a graph of the server's series: where each other caller
// of the server would pay for it, and where lines have series of other servers.
func (s server) drawsHere(args []string) bool {
	other := func(arg string) bool { return strings.Contains(arg, "daemon=") }
	return isGraph(args) && (!s.client.IsSocket() || slices.ContainsFunc(args, other))
}

func isGraph(args []string) bool { return args[0] == "graph" || args[0] == "graphv" }

// runThere has the server run a verb, and gives it the input that the verb names.
func (s server) runThere(ctx context.Context, c *Call, env *rrdtool.Env, args []string) (code int, err error) {
	args, in, out := rrdtool.Split(args)
	req := c.request(args, c.Plain)
	if isGraph(args) {
		var files callerFiles
		files.add(rrdtool.FileNames(args))
		defer files.close()
		return s.converse(ctx, c, req, files.answer)
	}
	name := rrdtool.Makes(args)
	path, unknown := env.Path(name)
	makes := name != "" && unknown == nil && env.Made != nil
	if makes && !env.Seen(path) {
		req.Environment[rpc.KeepVariable] = rpc.KeepSame
	}
	if out == "" {
		if in != "" {
			code, err = s.executeWith(ctx, c, req, in)
		} else {
			code, err = s.execute(ctx, c.Stdout, c.Stderr, req)
		}
		if err == nil && code == 0 && makes {
			env.Made(path)
		}
		return code, err
	}
	f := &laterFile{name: out}
	code, err = s.execute(ctx, f, c.Stderr, req)
	return code, cmp.Or(err, f.close())
}

// adopt has the server make a series of the native file of a name, unless it has a series of that
// name.
func (s server) adopt(ctx context.Context, env *rrdtool.Env, name string) error {
	if native, err := s.anyNative(ctx, env, []string{name}); err != nil || !native {
		return err
	}
	path, err := env.Path(name)
	if err != nil {
		return nil // the verb says so
	}
	var failed error
	err = Upload(ctx, s.client, transfer.Options{}, []transfer.Item{{Path: path, Name: name}}, func(r transfer.Result) { failed = r.Err })
	if err == nil && failed != nil {
		if known, e := s.hasSeries(ctx, env, name); known && e == nil { // another has been quicker
			return nil
		}
		err = fmt.Errorf("reading '%s': %w", name, failed)
	}
	return err
}

// anyNative says whether one of the names is of a native file and not of a series.
func (s server) anyNative(ctx context.Context, env *rrdtool.Env, names []string) (bool, error) {
	for _, name := range names {
		if !rrdtool.IsNative(env.Files, name) {
			continue
		}
		if known, err := s.hasSeries(ctx, env, name); err != nil || !known {
			return err == nil, err
		}
	}
	return false, nil
}

// hasSeries says whether the server has the series that a file name stands for.
func (s server) hasSeries(ctx context.Context, env *rrdtool.Env, name string) (bool, error) {
	path, err := env.Path(name)
	if err != nil || path == "" {
		return false, nil
	}
	_, err = s.client.Info(ctx, &rondov1.InfoRequest{Path: path})
	if connect.CodeOf(err) == connect.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// execute has the server run a request and passes on what it prints.
func (s server) execute(ctx context.Context, stdout, stderr io.Writer, req *rondov1.ExecRequest) (int, error) {
	stream, err := s.client.Exec(ctx, req)
	if err != nil {
		return 1, Explain(err)
	}
	defer func() { _ = stream.Close() }() // an error of it would say nothing new
	for stream.Receive() {
		m := stream.Msg()
		if _, err := stdout.Write(m.GetStdout()); err != nil {
			return 1, err
		}
		if _, err := stderr.Write(m.GetStderr()); err != nil {
			return 1, err
		}
		if m.ExitCode != nil {
			return int(m.GetExitCode()), nil
		}
	}
	if err := stream.Err(); err != nil {
		return 1, Explain(err)
	}
	return 1, rpc.ErrEnded
}
