package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

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
