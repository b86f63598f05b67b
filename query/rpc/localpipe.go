package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A sender is a writer that sends what it gets in messages of chunkBytes at most.
type sender func([]byte) error

func (s sender) Write(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, chunkBytes) {
		if err := s(part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// upgrade takes over the connection of a request and runs a session of pipe mode on it.
func (l *Commands) upgrade(w http.ResponseWriter, r *http.Request) {
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
	most := maxExecBytes
	if l.Remote != nil {
		most = maxSessionMessage
	}
	conn = l.Remote.paced(conn)
	m := newMessages(conn, most)
	if early, err := rw.Reader.Peek(rw.Reader.Buffered()); err == nil && len(early) > 0 {
		m.in.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn))
	}
	in := &pipeInput{stream: caller{m}, watch: l.Remote.watch(r), account: limit.Of(r.Context()).Another()}
	defer in.account.Close()
	if l.Remote != nil {
		in.most = maxOffered
	}
	_ = l.pipe(ctx, in) // the caller sees the end of the connection
}

// FramesWord is the single argument of a session that speaks [rrdtool.Frames] instead of
// [rrdtool.Pipe].
const FramesWord = "pipe"

// pipe runs one session of pipe mode to its end and sends the exit code.
func (l *Commands) pipe(ctx context.Context, in *pipeInput) error {
	stream := in.stream
	first, err := stream.Receive()
	if errors.Is(err, errIdle) {
		return stream.refuse(err)
	}
	if err != nil {
		return err
	}
	env, err := l.environment(ctx, first)
	if err != nil {
		return stream.refuse(err)
	}
	env.Stdout = sender(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stdout: p}) })
	env.Stderr = sender(func(p []byte) error { return stream.Send(&rondov1.ExecResponse{Stderr: p}) })
	in.next = first.GetStdin()
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
	code := int32(runSession(ctx, env, in, first.GetArgv()))
	if in.why != nil {
		return stream.refuse(in.why)
	}
	if in.err != nil {
		return in.err // not the end of the input
	}
	return stream.Send(&rondov1.ExecResponse{ExitCode: &code})
}

// runSession runs the commands of a session. With one word it is a mode: FramesWord for
// [rrdtool.Frames], any other for [rrdtool.Pipe]. With more words it is one command, whose input
// the server asks the caller for.
func runSession(ctx context.Context, env *rrdtool.Env, in *pipeInput, argv []string) int {
	switch {
	case len(argv) > 1:
		env.Stdin = &callerInput{in: in}
		return rrdtool.Run(ctx, env, argv)
	case slices.Equal(argv, []string{FramesWord}):
		env.Now = nil
		return rrdtool.Frames(ctx, env, in)
	}
	env.Now = nil
	return rrdtool.Pipe(ctx, env, in)
}
