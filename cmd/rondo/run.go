package main

import (
	"context"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
)

// runVerb runs one of rrdtool's verbs, or a session of them ("-"), and returns its exit code. With
// plain, a verb prints what rrdtool prints and nothing else.
func runVerb(ctx context.Context, p *process, t backend.Target, args []string, plain bool) int {
	if plain {
		t.Notice = nil
	}
	if len(args) > 0 && args[0] == "-" && len(args) <= 2 {
		kind := backend.OwnPipe
		if plain {
			kind = backend.PlainPipe
		}
		return runPipe(ctx, p, t, strings.Join(args[1:], ""), kind)
	}
	collect(200)
	code, err := backend.Run(ctx, p.call(plain), t, args)
	return p.ended(code, err)
}

// runPipe runs commands from standard input. folder is the folder in which the session begins;
// empty means the working folder.
func runPipe(ctx context.Context, p *process, t backend.Target, folder string, kind backend.PipeKind) int {
	call := p.call(kind != backend.OwnPipe)
	call.Folder = folder
	code, err := backend.Pipe(ctx, call, t, kind)
	return p.ended(code, err)
}

// call returns the Call of a command for a backend.
func (p *process) call(plain bool) *backend.Call {
	return &backend.Call{
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, LookupEnv: p.lookupEnv, Now: p.now,
		Plain: plain, Base: p.base(), HidesFiles: p.hidesFiles(),
	}
}

// ended returns the exit code of a command that a backend has run, and prints the error.
func (p *process) ended(code int, err error) int {
	if err != nil {
		p.report(err)
		return 1
	}
	return code
}

// isHelp reports whether the arguments of a verb ask for its help. No verb accepts -h as its only
// argument.
func isHelp(args []string) bool { return len(args) == 1 && (args[0] == "--help" || args[0] == "-h") }
