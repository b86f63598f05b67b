package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A Local is the service of the command line over one store. It does not check who calls: a caller
// who reaches it may do everything that the store's owner may do.
type Local struct {
	Store *core.Store
	// Command passes a command to the receiver of a protocol and returns the names of the answer's
	// columns, and its rows. If it is nil, Control refuses every command.
	Command func(ctx context.Context, protocol string, args []string) ([]string, [][]string, error)

	sessions sessions
}

// Handler returns the path of the service and the handler that answers below it.
func (l *Local) Handler() (string, http.Handler) {
	path, h := rondov1.NewLocalHandler(l, connect.WithReadMaxBytes(maxExecBytes))
	return path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == pipePath && r.Header.Get("Upgrade") == upgradeName {
			l.upgrade(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Close ends all sessions of pipe mode and refuses new ones. A session may finish the command that
// it is running; after the time grace the command is cancelled. Close returns when all sessions
// have ended, or after twice the grace.
func (l *Local) Close(grace time.Duration) {
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
func (l *Local) Exec(ctx context.Context, req *connect.Request[rondov1.ExecRequest], stream *connect.ServerStream[rondov1.ExecResponse]) error {
	out := newChunks(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stdout: p}) })
	errOut := newChunks(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stderr: p}) })
	env := l.environment(req.Msg)
	env.Stdin, env.Stdout, env.Stderr = bytes.NewReader(req.Msg.GetStdin()), out, errOut
	code := int32(rrdtool.Run(ctx, env, req.Msg.GetArgv()))
	for _, c := range []*chunks{out, errOut} {
		if err := c.flush(); err != nil {
			return err
		}
	}
	return stream.Send(&rondov1.ExecResponse{ExitCode: &code})
}

// environment returns the environment of a verb, as the request describes the caller's: folder,
// variables, time zone, clock.
func (l *Local) environment(req *rondov1.ExecRequest) *rrdtool.Env {
	environment := req.GetEnvironment()
	tz, named := environment["TZ"]
	env := &rrdtool.Env{
		Store:    l.Store,
		Location: location(tz, named),
		Dir:      req.GetCwd(),
		Base:     req.GetBase(),
		RealBase: req.GetRealBase(),
		Getenv:   func(k string) string { return environment[k] },
		KeepSame: environment[KeepVariable] == KeepSame,
	}
	if !req.GetPlain() {
		env.Extra, env.Rondo = l.Store, true
	}
	if now := req.GetNowUs(); now != 0 {
		env.Now = func() time.Time { return time.UnixMicro(now) }
	}
	return env
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

// KeepVariable is the variable in the environment of a request that says what create does about a
// series that exists already. Its values are KeepSame and KeepUnseen.
const (
	KeepVariable = "RONDO_KEEP_SAME"
	// KeepSame: create leaves a series alone that has the same definition.
	KeepSame = "1"
	// KeepUnseen, for pipe mode only: create leaves such a series alone if the caller sees no file
	// of its name, and tells the caller of each series that it makes.
	KeepUnseen = "ask"
)

// SeriesFile is the prefix by which a [rondov1.FileRequest] names a series instead of a file. STAT
// then asks whether the caller sees a file of the series' name, and CREATE tells the caller that
// the series has been made.
const SeriesFile = "series:"

// upgrade takes over the connection of a request and runs a session of pipe mode on it.
func (l *Local) upgrade(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "a pipe needs HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	defer func() { _ = conn.Close() }() // the caller has the exit code, or notices that it is missing
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if conn.SetDeadline(time.Time{}) != nil || !l.sessions.enter(conn, cancel) {
		return
	}
	defer l.sessions.leave(conn)
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", upgradeName); err != nil {
		return
	}
	m := newMessages(conn, maxExecBytes)
	if early, err := rw.Reader.Peek(rw.Reader.Buffered()); err == nil && len(early) > 0 {
		m.in.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn))
	}
	_ = l.pipe(ctx, caller{m}) // the caller sees the end of the connection
}

// FramesWord is the single argument of a session that speaks [rrdtool.Frames] instead of
// [rrdtool.Pipe].
const FramesWord = "pipe"

// pipe runs one session of pipe mode to its end and sends the exit code.
func (l *Local) pipe(ctx context.Context, stream caller) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	env := l.environment(first)
	env.Now = nil
	env.Stdout = sender(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stdout: p}) })
	env.Stderr = sender(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stderr: p}) })
	run := rrdtool.Pipe
	if slices.Equal(first.GetArgv(), []string{FramesWord}) {
		run = rrdtool.Frames
	}
	in := &pipeInput{next: first.GetStdin(), stream: stream}
	if first.GetFiles() {
		env.Files = remoteFiles{in}
		if first.GetEnvironment()[KeepVariable] == KeepUnseen {
			env.Seen = func(path string) bool {
				_, err := env.Files.Stat(SeriesFile + path)
				return !errors.Is(err, fs.ErrNotExist)
			}
			env.Made = func(path string) {
				// the series exists in any case, so a failure changes nothing
				_, _ = in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_CREATE, Name: SeriesFile + path})
			}
		}
	}
	code := int32(run(ctx, env, in))
	if in.err != nil {
		return in.err // not the end of the input
	}
	return stream.Send(&rondov1.ExecResponse{ExitCode: &code})
}

// Backup streams a consistent copy of the store.
func (l *Local) Backup(ctx context.Context, _ *connect.Request[rondov1.BackupRequest], stream *connect.ServerStream[rondov1.BackupResponse]) error {
	out := newChunks(func(p []byte) error { return stream.Send(&rondov1.BackupResponse{Data: p}) })
	if err := l.Store.Backup(ctx, out); err != nil {
		return fail(err, "backup")
	}
	return out.flush()
}

// Check streams the defects that [core.Store.Check] finds.
func (l *Local) Check(ctx context.Context, _ *connect.Request[rondov1.CheckRequest], stream *connect.ServerStream[rondov1.CheckResponse]) error {
	problems, err := l.Store.Check(ctx)
	if err != nil {
		return fail(err, "check")
	}
	for _, p := range problems {
		if err := stream.Send(&rondov1.CheckResponse{Where: text.Escape(p.Where), What: text.Escape(p.What)}); err != nil {
			return err
		}
	}
	return nil
}

// Control passes a command to a receiver and returns its answer.
func (l *Local) Control(ctx context.Context, req *connect.Request[rondov1.ControlRequest]) (*connect.Response[rondov1.ControlResponse], error) {
	if l.Command == nil {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("this server takes no commands"))
	}
	columns, rows, err := l.Command(ctx, req.Msg.GetReceiver(), req.Msg.GetArgs())
	if err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	answer := &rondov1.ControlResponse{Columns: columns}
	for _, r := range rows {
		answer.Rows = append(answer.Rows, &rondov1.ControlResponse_Row{Cells: r})
	}
	return connect.NewResponse(answer), nil
}
