package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/rondo-db/rondo/query/rpc"
)

// The limits of the HTTP port.
const (
	maxConnections = 1024 // further ones wait to be accepted
	maxHeader      = 64 << 10
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
)

// A listener is an http.Server and the goroutine that it serves in.
type listener struct {
	net.Listener
	server *http.Server
	done   chan struct{}
}

// serve begins to serve h at l. fail is told why it ended, if not by shutdown.
func serve(l net.Listener, h http.Handler, log *slog.Logger, fail context.CancelCauseFunc) *listener {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC without TLS
	s := &http.Server{
		Handler:           h,
		Protocols:         &protocols,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	r := &listener{Listener: l, server: s, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := s.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("serve at %s: %w", l.Addr(), err))
		}
	}()
	return r
}

// shutdown lets open requests end, at most for grace, and returns when nothing is left running.
func (l *listener) shutdown(grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = l.server.Close()
	}
	<-l.done
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// listenHTTP opens the HTTP port; nil if it is off, or a default that is taken.
func (s *server) listenHTTP(fail context.CancelCauseFunc) (*listener, error) {
	l, err := s.socket("http", s.HTTP)
	if l == nil || err != nil {
		return nil, err
	}
	s.announce("http", l.Addr())
	return serve(l, s.page, s.Logger, fail), nil
}

// socket returns the socket that systemd handed over under name, or else one opened at a.
func (s *server) socket(name string, a Address) (net.Listener, error) {
	if files := s.activated[name]; len(files) > 0 {
		l, err := net.FileListener(files[0])
		if err != nil {
			return nil, fmt.Errorf("socket %s of systemd: %w", name, err)
		}
		_ = files[0].Close() // l has its own copy
		return l, nil
	}
	if a.Addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", a.Addr)
	if err != nil {
		return nil, s.taken(name, a, err)
	}
	return l, nil
}

// taken says what an address that cannot be had means: the end, if it was named, or else a warning.
func (s *server) taken(name string, a Address, err error) error {
	if a.Named {
		return fmt.Errorf("--%s %s: %w", name, a.Addr, err)
	}
	s.Logger.Warn("not listening: the default address cannot be had", "for", name, "addr", a.Addr, "err", err)
	return nil
}

// announce logs what is listened on, and warns of what others can reach.
func (s *server) announce(name string, a net.Addr) {
	addr := a.String()
	if a.Network() == "unix" {
		addr = absolute(addr)
	}
	s.Logger.Info("listening", "for", name, "network", a.Network(), "addr", addr)
	if beyondLoopback(a) {
		s.Logger.Warn("reachable from beyond this machine without authentication", "for", name, "addr", addr)
	}
}

func beyondLoopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return !a.IP.IsLoopback()
	case *net.UDPAddr:
		return !a.IP.IsLoopback()
	}
	return false
}

// listenLocal opens the socket in the database's folder.
func (s *server) listenLocal(fail context.CancelCauseFunc) (*listener, error) {
	l, err := rpc.ListenLocal(s.DB)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(s.rpc().Handler())
	s.commands = &rpc.Local{Store: s.store, Command: s.receivers.command}
	mux.Handle(s.commands.Handler())
	s.Logger.Info("listening", "for", "command line", "network", "unix", "addr", absolute(l.Addr().String()))
	return serve(l, refusePages(mux), s.Logger, fail), nil
}

// refusePages refuses what a web page sends. No browser reaches the socket by itself: a proxy that passes requests on to it would let pages
// in, and whoever reaches it may do everything.
func refusePages(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Mode") != "" {
			http.Error(w, "this socket is for commands, and takes nothing from web pages", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
