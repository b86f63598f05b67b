package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// maxHeader is the most bytes of the head of a request.
const maxHeader = 64 << 10

// A listener is an http.Server and the goroutine that it serves in.
type listener struct {
	net.Listener
	server *http.Server
	cut    context.CancelFunc // ends what requests are at
	done   chan struct{}
}

// serve has s serve at l. fail is told why it ended, if not by shutdown.
func serve(l net.Listener, s *http.Server, log *slog.Logger, fail context.CancelCauseFunc) *listener {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC without TLS
	s.Protocols = &protocols
	s.MaxHeaderBytes = maxHeader
	s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	ctx, cut := context.WithCancel(context.Background())
	s.BaseContext = func(net.Listener) context.Context { return ctx }
	r := &listener{Listener: l, server: s, cut: cut, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("serve at %s: %w", l.Addr(), err))
		}
	}()
	return r
}

// shutdown lets open requests end, at most for grace; what they are at then is cancelled, and their
// connections closed.
func (l *listener) shutdown(grace time.Duration, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := l.server.Shutdown(ctx)
	l.cut()
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("open requests cut off", "at", l.Addr().String(), "after", grace)
		err = l.server.Close()
	}
	<-l.done
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}
