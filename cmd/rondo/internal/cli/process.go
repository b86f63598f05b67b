package cli

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

// A Process is the process that a command runs in: arguments, streams, environment, clock.
type Process struct {
	Args           []string // args[0] is the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	Now            func() time.Time
	Settings       fileSettings // zero until configure has read the configuration file
	passedOver     string       // the configuration file that FindConfig has warned of
}

func NewProcess() *Process {
	return &Process{Args: os.Args, Stdin: os.Stdin, Stdout: forTerminal(os.Stdout), Stderr: forTerminal(os.Stderr), LookupEnv: os.LookupEnv, Now: time.Now}
}

// ReportError prints an error, whose text may quote anything, and which commands help if the
// database is damaged or of another version.
func (p *Process) ReportError(err error) {
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
	_, _ = fmt.Fprintf(p.Stderr, "ERROR: %s\n", text.EscapeLines(told)) // a failure cannot be reported
	// Nodes of a cluster say themselves which flags they know each other by.
	if connect.CodeOf(err) == connect.CodeUnauthenticated && !strings.Contains(told, "--cluster-") {
		_, _ = fmt.Fprintln(p.Stderr, "A user is named by --daemon https://USER@HOST, with --daemon-password-file; a token by --daemon-token-file, a certificate by --daemon-tls.")
	}
	if errors.Is(err, core.ErrVersion) {
		_, _ = fmt.Fprintln(p.Stderr, "Nothing was changed. The rondo that wrote it takes the series out (rondo export --to FOLDER), this one takes them in (rondo --db NEW import FOLDER).")
	}
	damaged := errors.Is(err, core.ErrDamaged) || connect.CodeOf(err) == connect.CodeDataLoss
	if damaged && !strings.Contains(told, "rondo ") {
		_, _ = fmt.Fprintln(p.Stderr, "rondo check tells all that is damaged; rondo check --repair, while no server runs, makes the rest usable.")
	}
}

func (p *Process) Getenv(name string) string {
	v, _ := p.LookupEnv(name)
	return v
}

// An ExitError is an exit code whose reason has been printed.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Together is how long signals count as one: timeout(1) sends its signal to the process and to its
// group.
const Together = time.Second

// ExitCode returns the error that stands for an exit code; nil for 0.
func ExitCode(code int) error {
	if code == 0 {
		return nil
	}
	return ExitError(code)
}

// fileSettings are the keys of the configuration file that every command reads. Only the server
// reads the other keys.
type fileSettings struct {
	File   string            // name of the file; empty: none was read
	values map[string]string // values of settingKeys, by key
}

// The percentages of CollectGarbage.
const (
	// BrieflyCollects is for a command, which seldom makes enough garbage for a collection, which
	// would take a sixth of its processor time.
	BrieflyCollects = 200
	// SteadilyCollects is for a server, and for commands that run for long. They keep their
	// large data outside the collector's heap, so collecting twice as often as usual costs them
	// little and keeps garbage small.
	SteadilyCollects = 50
)

// CollectGarbage sets the percentage by which the heap grows between two garbage collections,
// unless GOGC does.
func CollectGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// ExitStopped is the exit code of a command that SIGINT or SIGTERM ended early: a shell's 128 and
// SIGINT.
const ExitStopped = 128 + 2
