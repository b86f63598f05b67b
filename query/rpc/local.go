package rpc

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
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

// The limits of the service Local.
const (
	maxExecBytes = 64 << 20 // arguments and standard input of one command
	chunkBytes   = 256 << 10
)

// A Local is the service of the command line over one store. Whoever reaches it may do with the
// store what its owner may.
type Local struct {
	Store *core.Store
	// Command has the receiver of a protocol do something and returns columns and rows; nil:
	// nothing can be told.
	Command func(ctx context.Context, protocol string, args []string) ([]string, [][]string, error)

	sessions sessions
}

// Handler returns the path that the service stands at and what answers there.
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

// Exec runs one of rrdtool's verbs and streams what it prints.
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

// environment returns the surroundings that a request describes.
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

// KeepVariable, in the environment of a request, says whether create leaves a series of the same
// definition alone.
const (
	KeepVariable = "RONDO_KEEP_SAME"
	KeepSame     = "1" // it does
	// of Pipe: if the caller sees no file of its name; of what is made then it is told
	KeepUnseen = "ask"
)

// SeriesFile stands in a [rondov1.FileRequest] before the path of a series: STAT asks whether the
// caller sees a file of its name, CREATE says that the series has been made.
const SeriesFile = "series:"

// FramesWord is the argument that asks Pipe for the session of programs, rrdtool.Frames.
const FramesWord = "pipe"

// pipe runs the commands of one session of pipe mode.
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
	in := &pieces{next: first.GetStdin(), stream: stream}
	if first.GetFiles() {
		env.Files = remoteFiles{in}
		if first.GetEnvironment()[KeepVariable] == KeepUnseen {
			env.Seen = func(path string) bool {
				_, err := env.Files.Stat(SeriesFile + path)
				return !errors.Is(err, fs.ErrNotExist)
			}
			env.Made = func(path string) {
				// without it all is as it was
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

// A sender is a writer of messages.
type sender func([]byte) error

func (s sender) Write(p []byte) (int, error) {
	if err := s(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Backup streams a consistent copy of the store.
func (l *Local) Backup(ctx context.Context, _ *connect.Request[rondov1.BackupRequest], stream *connect.ServerStream[rondov1.BackupResponse]) error {
	out := newChunks(func(p []byte) error { return stream.Send(&rondov1.BackupResponse{Data: p}) })
	if err := l.Store.Backup(ctx, out); err != nil {
		return fail(err, "backup")
	}
	return out.flush()
}

// Check streams what is broken in the store.
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

// Control has a receiver do something.
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

// chunks is a writer that sends what is written in messages of some size. The first error sticks.
type chunks struct {
	buf  []byte
	send func([]byte) error
	err  error
}

func newChunks(send func([]byte) error) *chunks { return &chunks{send: send} }

func (c *chunks) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && c.err == nil {
		k := min(len(p), chunkBytes-len(c.buf))
		c.buf, p = append(c.buf, p[:k]...), p[k:]
		if len(c.buf) == chunkBytes {
			c.err = c.flush()
		}
	}
	if c.err != nil {
		return 0, c.err
	}
	return n, nil
}

func (c *chunks) flush() error {
	if c.err == nil && len(c.buf) > 0 {
		c.err = c.send(c.buf)
		c.buf = c.buf[:0]
	}
	return c.err
}

// location returns the time zone that the variable TZ names for whoever asks, as far as
// this machine knows it.
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
