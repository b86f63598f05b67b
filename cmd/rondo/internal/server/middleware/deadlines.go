package middleware

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// pieceBytes is how many bytes of a body are read, or of an answer written, before the deadline is
// renewed.
const pieceBytes = 64 << 10

// The reasons why a body is refused.
var (
	errBodyLong = errors.New("the request is too long")
	errBodySlow = errors.New("the request did not arrive in time")
)

// readBody reads the whole body of r. A client that sends slowly, or nothing, waits here without
// occupying a place. The bytes that have arrived are charged to held.
func readBody(c *http.ResponseController, r *http.Request, most int64, p Pace, held *limit.Account) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > most {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken", errBodyLong, r.ContentLength, most)
	}
	var b bytes.Buffer
	for start := time.Now(); ; {
		if b.Len() > 0 { // before the first byte the deadline of the whole request applies
			_ = c.SetReadDeadline(p.deadline(start, int64(b.Len())))
		}
		charge := int64(pieceBytes)
		if r.ContentLength >= 0 {
			charge = min(charge, r.ContentLength)
		}
		if err := held.Charge(charge); err != nil {
			return nil, err
		}
		if b.Len() == 0 && charge < pieceBytes {
			b.Grow(int(charge) + bytes.MinRead) // ReadFrom wants as much free to see the end
		}
		_, err := io.CopyN(&b, r.Body, pieceBytes)
		switch {
		case int64(b.Len()) > most:
			return nil, fmt.Errorf("%w: more than %d bytes", errBodyLong, most)
		case errors.Is(err, io.EOF):
			return b.Bytes(), nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, fmt.Errorf("%w: %d bytes have", errBodySlow, b.Len())
		case err != nil:
			return nil, err
		}
	}
}

// A pacedWriter passes the output of a handler to the client, as fast as the client reads but not
// slower than pace. The handler's work is done when it writes the first byte; begun is then called,
// which gives the place of the request to another one. A stream writes a message at a time: a
// deadline holds while a message is being sent, and not between two.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    Pace
	begun   func()    // nil: the output is a stream
	start   time.Time // of the first Write; of a stream, of the last piece
	written int64     // since
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends what is buffered.
func (w *pacedWriter) Flush() {
	if w.begun != nil {
		_ = w.control.Flush()
		return
	}
	_ = w.control.SetWriteDeadline(w.pace.deadline(time.Now(), pieceBytes))
	if w.control.Flush() == nil {
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}

// Write writes p in pieces, each with a deadline of its own.
func (w *pacedWriter) Write(p []byte) (written int, err error) {
	if w.begun != nil && w.start.IsZero() {
		w.start = time.Now()
		w.begun()
	}
	for {
		if w.begun == nil {
			w.start, w.written = time.Now(), 0
		}
		piece := p[written:min(written+pieceBytes, len(p))]
		w.written += int64(len(piece))
		_ = w.control.SetWriteDeadline(w.pace.deadline(w.start, w.written))
		n, err := w.ResponseWriter.Write(piece)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// end sets the write deadline of what has not been sent yet: the head of an answer without a body,
// or the end of a stream.
func (w *pacedWriter) end() {
	if w.begun == nil || w.start.IsZero() {
		_ = w.control.SetWriteDeadline(w.pace.deadline(time.Now(), 0))
	}
}

// A flow says which way a request sends more than one message.
type flow int

const (
	oneMessage  flow = iota // neither way
	manyAnswers             // the server streams
	bothWays                // the client streams, too
)

// flows are the requests that stream, by their paths: methods of the services Rondo and Cluster,
// and reflection.
var flows = sync.OnceValue(func() map[string]flow { return flowsOf("Rondo", "Cluster") })

// Reflections are the paths of gRPC's server reflection, in both of its versions.
var Reflections = []string{
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

func flowsOf(services ...protoreflect.Name) map[string]flow {
	all := make(map[string]flow)
	for _, path := range Reflections {
		all[path] = bothWays
	}
	for _, name := range services {
		s := rondov1.File_rondo_proto.Services().ByName(name)
		for i := range s.Methods().Len() {
			m := s.Methods().Get(i)
			path := "/" + string(s.FullName()) + "/" + string(m.Name())
			switch {
			case m.IsStreamingClient():
				all[path] = bothWays
			case m.IsStreamingServer():
				all[path] = manyAnswers
			}
		}
	}
	delete(all, rondov1.RondoExecProcedure) // commands have a room of their own
	return all
}

// stream lets h answer a request that streams. Nothing bounds how long it lasts but the pace of the
// client: each piece of what is sent or read has its own deadline.
func (m *Handler) stream(c *http.ResponseController, w http.ResponseWriter, r *http.Request, h http.Handler) {
	if flows()[r.URL.Path] == bothWays {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		r = r.WithContext(ctx)
		b := &streamBody{ReadCloser: r.Body, control: c, idle: m.Idle}
		if slices.Contains(Reflections, r.URL.Path) {
			b.ended = m.ended
			go func() {
				select {
				case <-m.ended:
					_ = c.SetReadDeadline(time.Unix(1, 0))
				case <-ctx.Done():
				}
			}()
		}
		r.Body = b
	}
	_ = c.SetReadDeadline(time.Time{})
	out := &pacedWriter{ResponseWriter: w, control: c, pace: m.Read}
	h.ServeHTTP(out, r)
	out.end()
}

// A streamBody is the body of a request whose client streams. Each piece of it may take as long as
// the client may be idle.
type streamBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	ended   <-chan struct{} // closed when nothing more is to be read; nil: never
}

// errEnded says that a stream has ended because the server is about to.
var errEnded = errors.New("the server is about to end")

// errIdle says that a stream has ended because its client sent nothing.
var errIdle = errors.New("nothing was sent on the stream for too long")

func (b *streamBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(b.idle))
	select {
	case <-b.ended:
		return 0, errEnded
	default:
	}
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, errIdle
	}
	if err == nil {
		// A deadline that passed while the server is at work would end the stream.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// maxHeader bounds the head of a request, in bytes.
const maxHeader = 64 << 10

// A Server is an http.Server and the goroutines that it serves in.
type Server struct {
	net.Listener // the first
	server       *http.Server
	cut          context.CancelFunc // cancels the work of requests
	running      sync.WaitGroup
}

// Serve starts s at listeners, with TLS if s has a configuration of it. It calls fail with the
// error if s ends before shutdown.
func Serve[L net.Listener](listeners []L, s *http.Server, log *slog.Logger, fail context.CancelCauseFunc) *Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(s.TLSConfig != nil)
	protocols.SetUnencryptedHTTP2(s.TLSConfig == nil) // gRPC without TLS
	s.Protocols = &protocols
	s.Handler = logPanics(endAmbiguous(s.Handler), log)
	s.MaxHeaderBytes = maxHeader
	s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	ctx, cut := context.WithCancel(context.Background())
	s.BaseContext = func(net.Listener) context.Context { return ctx }
	r := &Server{Listener: listeners[0], server: s, cut: cut}
	run := s.Serve
	if s.TLSConfig != nil {
		run = func(l net.Listener) error { return s.ServeTLS(l, "", "") }
	}
	for _, l := range listeners {
		r.running.Go(func() {
			if err := run(l); !errors.Is(err, http.ErrServerClosed) {
				fail(fmt.Errorf("serve at %s: %w", l.Addr(), err))
			}
		})
	}
	return r
}

// logPanics logs when h panics, and ends the connection. Package http would log it among what
// clients do wrong.
func logPanics(h http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p != http.ErrAbortHandler {
				log.Error("a request made rondo panic, which is a fault of rondo", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			}
			panic(http.ErrAbortHandler)
		}()
		h.ServeHTTP(w, r)
	})
}

// Shutdown waits for open requests to end, at most for grace. It then cancels their work and closes
// their connections.
func (l *Server) Shutdown(grace time.Duration, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := l.server.Shutdown(ctx)
	l.cut()
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("open requests cut off", "at", l.Addr().String(), "after", grace)
		err = l.server.Close()
	}
	l.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}
