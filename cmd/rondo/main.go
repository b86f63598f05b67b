// Rondo keeps time series in round-robin archives. See `rondo help`.
//
// Called by the name rrdtool it is rrdtool, for the verbs there are.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
)

func main() {
	collect(50)
	os.Exit(run(newProcess()))
}

// A process is what a command sees of the world.
type process struct {
	args           []string // args[0] is the program's name
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	now            func() time.Time
	settings       fileSettings // of the configuration file, once configure has read it
}

func newProcess() *process {
	return &process{args: os.Args, stdin: os.Stdin, stdout: forTerminal(os.Stdout), stderr: forTerminal(os.Stderr), lookupEnv: os.LookupEnv, now: time.Now}
}

// tell prints an error, which may quote anything. Where something in the database is damaged it says what helps.
func (p *process) tell(err error) {
	told := err.Error()
	_, _ = fmt.Fprintf(p.stderr, "ERROR: %s\n", text.EscapeLines(told)) // nobody is left to tell
	damaged := errors.Is(err, core.ErrDamaged) || connect.CodeOf(err) == connect.CodeDataLoss
	if damaged && !strings.Contains(told, "rondo ") {
		_, _ = fmt.Fprintln(p.stderr, "rondo check tells all that is damaged; rondo check --repair, while no server runs, makes the rest usable.")
	}
}

func (p *process) getenv(name string) string {
	v, _ := p.lookupEnv(name)
	return v
}

// An exitError is an exit code whose reason has been told already.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// together is how long signals count as one: timeout(1) sends its signal to the process and to its group.
const together = time.Second

// run runs one command and returns its exit code. The first SIGINT or SIGTERM ends the command's context; one
// that comes a second or more later ends the process.
func run(p *process) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(together, stop) })
	if base := filepath.Base(p.args[0]); strings.TrimSuffix(base, ".exe") == "rrdtool" {
		t := p.newTarget("", "", "", "")
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
	p.tell(err)
	if u, ok := errors.AsType[*usageError](err); ok {
		_, _ = fmt.Fprintf(p.stderr, "See %s\n", u.help)
		return exitUsage
	}
	return 1
}
