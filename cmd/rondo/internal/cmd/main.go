// Package cmd puts the commands of rondo together and runs the one that the arguments name.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/verbs"
)

// Main runs the command that the arguments of this process name, and returns its exit code.
func Main() int {
	cli.CollectGarbage(cli.BrieflyCollects)
	return run(cli.NewProcess())
}

// run runs one command and returns its exit code. The first SIGINT or SIGTERM ends the command's
// context; one that comes a second or more later ends the process. Both signals stay caught when
// run returns: a second signal must not turn a clean end, whose code the process is about to
// return, into a death by signal.
func run(p *cli.Process) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(cli.Together, stop) })
	if base := filepath.Base(p.Args[0]); strings.TrimSuffix(base, ".exe") == "rrdtool" {
		t := p.NewTarget(cli.TargetFlags{})
		t.Strict = true
		return verbs.Run(ctx, p, t, p.Args[1:], true)
	}
	root := newRoot(p, named(p.Args[1:]))
	root.SetArgs(p.Args[1:])
	err := root.ExecuteContext(ctx)
	var code cli.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	p.ReportError(err)
	if u, ok := errors.AsType[*cli.UsageError](err); ok {
		_, _ = fmt.Fprintf(p.Stderr, "See %s\n", u.Help)
		return cli.ExitUsage
	}
	return 1
}
