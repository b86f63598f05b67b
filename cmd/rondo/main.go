// Rondo keeps time series in round-robin archives. See `rondo help`.
//
// If the program's file is named rrdtool, rondo takes rrdtool's command line: the first argument is
// a verb, and rondo's own commands are not known.
package main

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
)

func main() {
	collect(50)
	os.Exit(run(newProcess()))
}

// run runs one command and returns its exit code. The first SIGINT or SIGTERM ends the command's
// context; one that comes a second or more later ends the process. Both signals stay caught when
// run returns: a second signal must not turn a clean end, whose code the process is about to
// return, into a death by signal.
func run(p *process) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(together, stop) })
	if base := filepath.Base(p.args[0]); strings.TrimSuffix(base, ".exe") == "rrdtool" {
		t := p.newTarget(targetFlags{})
		t.Strict = true
		return runVerb(ctx, p, t, p.args[1:], true)
	}
	if code, done := runDirectly(ctx, p); done {
		return code
	}
	root := newRoot(p)
	root.SetArgs(p.args[1:])
	err := root.ExecuteContext(ctx)
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	p.report(err)
	if u, ok := errors.AsType[*usageError](err); ok {
		_, _ = fmt.Fprintf(p.stderr, "See %s\n", u.help)
		return exitUsage
	}
	return 1
}
