package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A pipeKind is what a session of commands from standard input is.
type pipeKind int

const (
	plainPipe  pipeKind = iota // rrdtool's pipe mode
	ownPipe                    // with rondo's verbs
	framedPipe                 // for programs: rrdtool.Frames
)

// runPipe runs commands from standard input. folder, if not empty, is where it begins.
func runPipe(ctx context.Context, p *process, t target, folder string, kind pipeKind) int {
	t.stays = true
	code, err := pipe(ctx, p, t, folder, kind)
	if err != nil {
		p.tell(err)
		return 1
	}
	return code
}

func pipe(ctx context.Context, p *process, t target, folder string, kind pipeKind) (code int, err error) {
	run := rrdtool.Pipe
	if kind == framedPipe {
		run = rrdtool.Frames
	}
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
			return run(ctx, env, p.stdin), nil
		}
	}
	here, err := p.place()
	if err != nil {
		return 1, err
	}
	if here, err = here.into(folder); err != nil {
		return 1, fmt.Errorf("chdir %s %w", folder, err)
	}
	s := &turns{maker: maker{target: t}, ctx: ctx, in: p.stdin}
	server, err := s.take()
	if err != nil {
		return 1, err
	}
	if server != nil {
		defer server.Close()
		return pipeThrough(ctx, server, p, here, kind)
	}
	defer func() { err = firstError(err, s.letGo()) }()
	env := &rrdtool.Env{Stdout: p.stdout, Stderr: p.stderr, Now: p.now, Getenv: p.getenv, Files: rrdtool.OSFiles{}}
	here.set(env)
	env.Store, env.Rondo, env.Connect = s, kind == ownPipe, d.connect
	if kind == ownPipe {
		env.Extra = s
	}
	if kind == framedPipe {
		env.Seen, env.Made = nil, nil // the program sees to it
		return run(ctx, env, &impatient{ctx: ctx, in: p.stdin}), nil
	}
	code = run(ctx, env, s)
	if s.server == nil {
		if errors.Is(s.err, io.EOF) {
			return code, nil
		}
		return code, s.err
	}
	defer s.server.Close()
	going := *p
	going.stdin, here.dir = s, env.Dir
	return pipeThrough(ctx, s.server, &going, here, kind)
}

// pipeThrough has a server run the commands.
func pipeThrough(ctx context.Context, server *rpc.Client, p *process, here place, kind pipeKind) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := server.Pipe(ctx)
	if err != nil {
		return 1, explain(err)
	}
	defer func() { _ = stream.Close() }() // what matters has been received
	word := "-"
	if kind == framedPipe {
		word = rpc.FramesWord
	}
	first := execRequest(p, here, []string{word}, kind != ownPipe)
	first.Files = true
	files := &callerFiles{frames: kind == framedPipe}
	if kind != framedPipe { // where the program sees to it
		here.set(&files.env)
	}
	if files.env.Made != nil {
		first.Environment[rpc.KeepVariable] = rpc.KeepUnseen
	}
	if err := stream.Send(first); err != nil {
		return 1, explain(err)
	}
	defer files.close()
	var sending sync.Mutex // held while a request is sent
	send := func(req *rondov1.ExecRequest) error {
		sending.Lock()
		defer sending.Unlock()
		return stream.Send(req)
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := p.stdin.Read(buf)
			files.scan(buf[:n])
			if n > 0 && send(&rondov1.ExecRequest{Stdin: append([]byte(nil), buf[:n]...)}) != nil {
				return // Receive says why
			}
			if err != nil {
				files.scan([]byte{'\n'})
				_ = send(&rondov1.ExecRequest{StdinEnd: true}) // likewise
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
		case m.GetFile() != nil:
			if err := send(&rondov1.ExecRequest{File: files.answer(m.GetFile())}); err != nil {
				return 1, explain(err)
			}
		}
		if _, err := p.stdout.Write(m.GetStdout()); err != nil {
			return 1, err
		}
		if _, err := p.stderr.Write(m.GetStderr()); err != nil {
			return 1, err
		}
	}
}
