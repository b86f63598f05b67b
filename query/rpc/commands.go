package rpc

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A Commands has the methods of the service Rondo that are for the command line, and sessions of
// pipe mode. Without a Remote it does not check who calls: a caller who reaches it may do
// everything that the store's owner may do.
type Commands struct {
	Store core.Engine
	// Remote says what callers over the network may do; nil: the service is behind a socket of the
	// store's owner.
	Remote *Remote
	// Command passes a command to the receiver of a protocol and returns the names of the answer's
	// columns, and its rows. If it is nil, Control refuses every command.
	Command func(ctx context.Context, protocol string, args []string) ([]string, [][]string, error)

	sessions sessions
}

// limits returns the handler options that bound the requests of one procedure of l.
func (l *Commands) limits() []connect.HandlerOption {
	if l.Remote != nil {
		return packed(MaxCommandBytes)
	}
	return packed(maxExecBytes)
}

// Close ends all sessions of pipe mode and refuses new ones. A session may finish the command that
// it is running; after the time grace the command is cancelled. Close returns when all sessions
// have ended, or after twice the grace.
func (l *Commands) Close(grace time.Duration) {
	s := &l.sessions
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	past := time.Unix(1, 0)
	// a connection that takes no deadline is closed below
	s.each(func(conn net.Conn, _ context.CancelFunc) { _ = conn.SetReadDeadline(past) })
	ended := make(chan struct{})
	go func() {
		s.open.Wait()
		close(ended)
	}()
	wait := func() bool {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-ended:
			return true
		case <-t.C:
			return false
		}
	}
	if wait() {
		return
	}
	s.each(func(conn net.Conn, cancel context.CancelFunc) {
		cancel()
		_ = conn.Close() // the session has ended, the error changes nothing
	})
	wait()
}

// Exec runs one of rrdtool's verbs and streams its output.
func (l *Commands) Exec(ctx context.Context, req *rondov1.ExecRequest, stream *connect.ServerStream[rondov1.ExecResponse]) error {
	out := bufio.NewWriterSize(sender(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stdout: p}) }), chunkBytes)
	errOut := bufio.NewWriter(sender(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stderr: p}) }))
	env, err := l.environment(ctx, req)
	if err != nil {
		return err
	}
	env.Stdin, env.Stdout, env.Stderr = bytes.NewReader(req.GetStdin()), out, errOut
	code := int32(rrdtool.Run(ctx, env, req.GetArgv()))
	if err := cmp.Or(out.Flush(), errOut.Flush()); err != nil {
		return err
	}
	return stream.Send(&rondov1.ExecResponse{ExitCode: &code})
}

// environment returns the environment of a verb, as the request describes the caller's: folder,
// variables, time zone, clock. Its store does what the user of ctx may do.
func (l *Commands) environment(ctx context.Context, req *rondov1.ExecRequest) (*rrdtool.Env, error) {
	if l.Remote != nil {
		if err := l.Remote.check(req); err != nil {
			return nil, err
		}
	}
	environment := req.GetEnvironment()
	tz, named := environment["TZ"]
	store, extra := l.stores(ctx)
	env := &rrdtool.Env{
		Store:    store,
		Location: location(tz, named),
		Dir:      req.GetCwd(),
		Base:     req.GetBase(),
		RealBase: req.GetRealBase(),
		Getenv:   func(k string) string { return environment[k] },
		KeepSame: environment[KeepVariable] == KeepSame,
	}
	if !req.GetPlain() {
		env.Extra, env.Rondo = extra, true
	}
	if now := req.GetNowUs(); now != 0 {
		env.Now = func() time.Time { return time.UnixMicro(now) }
	}
	return env, nil
}

// stores returns the store as the user of ctx may use it.
func (l *Commands) stores(ctx context.Context) (rrdtool.Store, rrdtool.Extra) {
	user := access.From(ctx)
	if l.Remote == nil || user.Role >= access.Admin && !user.Limited() {
		ctx = access.With(ctx, access.Everything())
	}
	c := access.CommandsOf(ctx, l.Store)
	if u, ok := c.Updates(); ok {
		return u, c
	}
	return c, c
}

// location returns the time zone that the caller's variable TZ names, or this machine's own if the
// variable is not set.
func location(tz string, set bool) *time.Location {
	if !set {
		if data, err := os.ReadFile("/etc/localtime"); err == nil {
			if l, err := time.LoadLocationFromTZData("Local", data); err == nil {
				return l
			}
		}
		return time.Local
	}
	return rrdtool.Location(tz)
}

// SeriesFile is the prefix by which a [rondov1.FileRequest] names a series instead of a file. STAT
// then asks whether the caller sees a file of the series' name, and CREATE reports to the caller
// that the series has been made.
const SeriesFile = "series:"

// Control passes a command to a receiver and returns its answer.
func (l *Commands) Control(ctx context.Context, req *rondov1.ControlRequest) (*rondov1.ControlResponse, error) {
	if l.Command == nil {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("this server takes no commands"))
	}
	columns, rows, err := l.Command(ctx, req.GetReceiver(), req.GetArgs())
	if err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	answer := &rondov1.ControlResponse{Columns: columns}
	for _, r := range rows {
		answer.Rows = append(answer.Rows, &rondov1.ControlResponse_Row{Cells: r})
	}
	return answer, nil
}
