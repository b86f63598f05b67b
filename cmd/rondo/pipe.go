package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrdtool"
)

// runPipe is rrdtool's pipe mode: commands from standard input. folder, if not empty, is where it begins.
func runPipe(ctx context.Context, p *process, t target, folder string, plain bool) int {
	t.stays = true
	code, err := pipe(ctx, p, t, folder, plain)
	if err != nil {
		_, _ = fmt.Fprintf(p.stderr, "ERROR: %v\n", err)
		return 1
	}
	return code
}

func pipe(ctx context.Context, p *process, t target, folder string, plain bool) (code int, err error) {
	var d daemons
	defer d.close()
	if t.daemon == "" {
		t.daemon = p.getenv(addressVariable)
	}
	if t.daemon != "" {
		c, err := d.dial(ctx, t.daemon)
		if err != nil {
			return 1, err
		}
		if c != nil {
			env := &rrdtool.Env{
				Store: c, Dir: path.Join(c.Dir(), folder), Connect: d.connect, Files: rrdtool.OSFiles{},
				Stdout: p.stdout, Stderr: p.stderr, Now: p.now, Getenv: p.getenv,
			}
			return rrdtool.Pipe(ctx, env, p.stdin), nil
		}
	}
	o, err := t.open(ctx, engine.Options{}, false)
	if err != nil {
		return 1, err
	}
	defer func() { err = firstError(err, o.close()) }()
	if o.client != nil {
		return pipeThrough(ctx, o.client.Streams, p, folder, plain)
	}
	env := &rrdtool.Env{Stdout: p.stdout, Stderr: p.stderr, Now: p.now, Getenv: p.getenv, Dir: folder, Files: rrdtool.OSFiles{}}
	env.Store, env.Rondo, env.Connect = o.store, !plain, d.connect
	switch {
	case o.store == nil:
		m := &maker{target: t}
		env.Store = m
		defer func() { o.store = m.store }()
	case !plain:
		env.Extra = o.store
	}
	return rrdtool.Pipe(ctx, env, p.stdin), nil
}

// pipeThrough has a server run the commands.
func pipeThrough(ctx context.Context, server rondov1.LocalClient, p *process, folder string, plain bool) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := server.Pipe(ctx)
	first := execRequest(p, []string{"-"}, plain)
	first.Cwd = folder
	if err := stream.Send(first); err != nil {
		return 1, explain(err)
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := p.stdin.Read(buf)
			if n > 0 && stream.Send(&rondov1.ExecRequest{Stdin: append([]byte(nil), buf[:n]...)}) != nil {
				return // Receive says why
			}
			if err != nil {
				_ = stream.CloseRequest() // likewise
				return
			}
		}
	}()
	for {
		m, err := stream.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return 1, io.ErrUnexpectedEOF
		case err != nil:
			return 1, explain(err)
		case m.ExitCode != nil:
			return int(m.GetExitCode()), nil
		}
		if _, err := p.stdout.Write(m.GetStdout()); err != nil {
			return 1, err
		}
		if _, err := p.stderr.Write(m.GetStderr()); err != nil {
			return 1, err
		}
	}
}
