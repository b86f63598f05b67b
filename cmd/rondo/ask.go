package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// maxInput is the largest input of a command that a server runs; it takes a little more.
const maxInput = 60 << 20

// ask has a server run a verb. The files that it is about are of this process: they are read and written here.
func ask(ctx context.Context, c *rpc.Client, env *rrdtool.Env, p *process, here place, args []string, plain bool) (int, error) {
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return 1, fmt.Errorf("'%s' is no UTF-8, which what a server is asked for must be", arg)
		}
	}
	if name := rrdtool.Reads(args); name != "" && rrdtool.IsNative(env.Files, name) {
		known, err := hasSeries(ctx, c, env, name)
		if err != nil {
			return 1, err
		}
		if !known {
			env.Store = missing{}
			return rrdtool.Run(ctx, env, args), nil
		}
	}
	native, err := anyNative(ctx, c, env, rrdtool.XportReads(args))
	if err != nil {
		return 1, err
	}
	if native {
		env.Store = newServed(ctx, c)
		return rrdtool.Run(ctx, env, args), nil
	}
	if err := adopt(ctx, c, env, rrdtool.Changes(args)); err != nil {
		return 1, err
	}
	args, in, out := rrdtool.Split(args)
	req := execRequest(p, here, args, plain)
	if in != "" {
		if req.Stdin, err = input(p, in); err != nil {
			return 1, err
		}
	}
	name := rrdtool.Makes(args)
	path, unknown := env.Path(name)
	makes := name != "" && unknown == nil && env.Made != nil
	if makes && !env.Seen(path) {
		req.Environment[rpc.KeepVariable] = rpc.KeepSame
	}
	if out == "" {
		code, err := execute(ctx, c.Local, p, req)
		if err == nil && code == 0 && makes {
			env.Made(path)
		}
		return code, err
	}
	f := &laterFile{name: out}
	quiet := *p
	quiet.stdout = f
	code, err := execute(ctx, c.Local, &quiet, req)
	return code, firstError(err, f.close())
}

// adopt has the server make a series of the native file of a name, if it has none of that name.
func adopt(ctx context.Context, c *rpc.Client, env *rrdtool.Env, name string) error {
	if native, err := anyNative(ctx, c, env, []string{name}); err != nil || !native {
		return err
	}
	path, err := env.Path(name)
	if err != nil {
		return nil // the verb says so
	}
	var failed error
	err = importThrough(ctx, c.Streams, transfer.Options{}, []transfer.Item{{Path: path, Name: name}}, func(r transfer.Result) { failed = r.Err })
	if err == nil && failed != nil {
		if known, e := hasSeries(ctx, c, env, name); known && e == nil { // another has been quicker
			return nil
		}
		err = fmt.Errorf("reading '%s': %w", name, failed)
	}
	return err
}

// anyNative says whether one of some names is a native file's, and not a series'.
func anyNative(ctx context.Context, c *rpc.Client, env *rrdtool.Env, names []string) (bool, error) {
	for _, name := range names {
		if !rrdtool.IsNative(env.Files, name) {
			continue
		}
		if known, err := hasSeries(ctx, c, env, name); err != nil || !known {
			return err == nil, err
		}
	}
	return false, nil
}

// hasSeries says whether the server has the series that a file name means.
func hasSeries(ctx context.Context, c *rpc.Client, env *rrdtool.Env, name string) (bool, error) {
	path, err := env.Path(name)
	if err != nil || path == "" {
		return false, nil
	}
	_, err = c.Info(ctx, connect.NewRequest(&rondov1.InfoRequest{Path: path}))
	if connect.CodeOf(err) == connect.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// input reads what a verb is to read; "-" is standard input.
func input(p *process, name string) ([]byte, error) {
	r := p.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, rrdtool.NoXML(name)
		}
		defer func() { _ = f.Close() }() // it is only read
		r = f
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("error reading/parsing XML: %w", err)
	case n > maxInput:
		return nil, fmt.Errorf("%s has more than %d MiB, which a running server does not take: rondo import does", name, maxInput>>20)
	}
	return b.Bytes(), nil
}

// A laterFile is made when something is written to it.
type laterFile struct {
	name string
	f    *os.File
}

func (l *laterFile) Write(b []byte) (n int, err error) {
	if l.f == nil && len(b) > 0 {
		if l.f, err = os.Create(l.name); err != nil {
			var at *os.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			return 0, fmt.Errorf("creating '%s': %w", l.name, err)
		}
	}
	if l.f == nil {
		return 0, nil
	}
	return l.f.Write(b)
}

func (l *laterFile) close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
