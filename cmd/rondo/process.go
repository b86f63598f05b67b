package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc"
)

// A process is the process that a command runs in: arguments, streams, environment, clock.
type process struct {
	args           []string // args[0] is the program's name
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	now            func() time.Time
	settings       fileSettings // zero until configure has read the configuration file
}

func newProcess() *process {
	return &process{args: os.Args, stdin: os.Stdin, stdout: forTerminal(os.Stdout), stderr: forTerminal(os.Stderr), lookupEnv: os.LookupEnv, now: time.Now}
}

// report prints an error, whose text may quote anything. If the database is damaged or of another
// version, report prints which commands help.
func (p *process) report(err error) {
	told := err.Error()
	if e, ok := err.(*connect.Error); ok { // without its code, a word for programs
		told = e.Message()
	}
	if e, ok := errors.AsType[*rpc.UnreachedError](err); ok { // likewise
		told = e.Error()
	}
	if errors.Is(err, rpc.ErrEnded) { // the place where it was noticed does not help the user
		told = rpc.ErrEnded.Error()
	}
	_, _ = fmt.Fprintf(p.stderr, "ERROR: %s\n", text.EscapeLines(told)) // a failure cannot be reported
	// Nodes of a cluster say themselves which flags they know each other by.
	if connect.CodeOf(err) == connect.CodeUnauthenticated && !strings.Contains(told, "--cluster-") {
		_, _ = fmt.Fprintln(p.stderr, "A user is named by --daemon https://USER@HOST, with --daemon-password-file; a token by --daemon-token-file, a certificate by --daemon-tls.")
	}
	if errors.Is(err, core.ErrVersion) {
		_, _ = fmt.Fprintln(p.stderr, "Nothing was changed. The rondo that wrote it takes the series out (rondo export --to FOLDER), this one takes them in (rondo --db NEW import FOLDER).")
	}
	damaged := errors.Is(err, core.ErrDamaged) || connect.CodeOf(err) == connect.CodeDataLoss
	if damaged && !strings.Contains(told, "rondo ") {
		_, _ = fmt.Fprintln(p.stderr, "rondo check tells all that is damaged; rondo check --repair, while no server runs, makes the rest usable.")
	}
}

func (p *process) getenv(name string) string {
	v, _ := p.lookupEnv(name)
	return v
}

// An exitError is an exit code whose reason has been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// together is how long signals count as one: timeout(1) sends its signal to the process and to its
// group.
const together = time.Second

// exitCode returns the error that stands for an exit code; nil for 0.
func exitCode(code int) error {
	if code == 0 {
		return nil
	}
	return exitError(code)
}

// fileSettings are the keys of the configuration file that every command reads. Only the server
// reads the other keys.
type fileSettings struct {
	file   string            // name of the file; empty: none was read
	values map[string]string // values of settingKeys, by key
}

// nodeCollects is the percentage of a node of a cluster. Its batches come from other nodes and its
// records from the servers of NATS, which is garbage that a store alone does not make: with 50 it
// took a seventh more processor time, and an eighth less memory.
const nodeCollects = 150

// collect sets the percentage by which the heap grows between two garbage collections, unless GOGC
// does. A verb seldom makes enough garbage for a collection. A server keeps its large data outside
// the collector's heap, so collecting twice as often costs it little and keeps garbage small.
func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
