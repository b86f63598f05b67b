package verbs

import (
	"context"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

// Run runs one of rrdtool's verbs, or a session of them ("-"), and returns its exit code. With
// plain, a verb prints what rrdtool prints and nothing else.
func Run(ctx context.Context, p *cli.Process, t backend.Target, args []string, plain bool) int {
	if plain {
		t.Notice = nil
	}
	if len(args) > 0 && args[0] == "-" && len(args) <= 2 {
		kind := backend.OwnPipe
		if plain {
			kind = backend.PlainPipe
		}
		return RunPipe(ctx, p, t, strings.Join(args[1:], ""), kind)
	}
	code, err := backend.Run(ctx, callOf(p, plain), t, args)
	return endOf(p, code, err)
}

// RunPipe runs commands from standard input. folder is the folder in which the session begins;
// empty means the working folder.
func RunPipe(ctx context.Context, p *cli.Process, t backend.Target, folder string, kind backend.PipeKind) int {
	cli.CollectGarbage(cli.SteadilyCollects)
	call := callOf(p, kind != backend.OwnPipe)
	call.Folder = folder
	code, err := backend.Pipe(ctx, call, t, kind)
	return endOf(p, code, err)
}

// callOf returns the Call of a command for a backend.
func callOf(p *cli.Process, plain bool) *backend.Call {
	return &backend.Call{
		Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, LookupEnv: p.LookupEnv, Now: p.Now,
		Plain: plain, Base: p.Base(), HidesFiles: p.HidesFiles(),
	}
}

// endOf returns the exit code of a command that a backend has run, and prints the error.
func endOf(p *cli.Process, code int, err error) int {
	if err != nil {
		p.ReportError(err)
		return 1
	}
	return code
}

// isHelp reports whether the arguments of a verb ask for its help. No verb accepts -h as its only
// argument.
func isHelp(args []string) bool { return len(args) == 1 && (args[0] == "--help" || args[0] == "-h") }
