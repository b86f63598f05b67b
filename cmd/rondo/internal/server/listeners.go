package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/net/netutil"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

const (
	localConns   = 1024             // connections at the socket; further ones wait to be accepted
	localHeader  = 10 * time.Second // time for the head of a request at the socket
	localIdle    = 2 * time.Minute  // time until the next request at the socket
	pingInterval = 30 * time.Second // silence after which a peer of HTTP/2 gets a ping
)

// listenHTTP opens the HTTP port, which may have several addresses. It returns nil if the port is
// off, or if the default address is in use.
func (s *server) listenHTTP(fail context.CancelCauseFunc) (*middleware.Server, error) {
	b := middleware.DefaultBounds(s.Memory)
	if s.HTTPBounds != nil {
		b = *s.HTTPBounds
	}
	all, err := s.openHTTP()
	if len(all) == 0 || err != nil {
		s.middleware = middleware.New(b, middleware.NewHosts(nil, nil, nil), s.Logger)
		return nil, err
	}
	s.httpListeners = all
	s.middleware = middleware.New(b, all[0].Hosts, s.Logger)
	s.connections = middleware.LimitConnections(b.Conns)
	s.middleware.Receive(s.Ways.paths())
	for _, e := range all {
		e.Conns = s.connections
		s.announce("http", e.Addr(), s.secured())
	}
	if s.web != nil {
		s.middleware.Authorizer.Identify, s.middleware.Authorizer.Challenges, s.middleware.Authorizer.Headers = s.identify, s.web.Challenges, s.web.SetHeaders
	}
	h := &http.Server{
		Handler:           s.middleware,
		ConnContext:       middleware.WithConn,
		ReadHeaderTimeout: b.Header,
		IdleTimeout:       b.Idle,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: middleware.StreamsOfConn, SendPingTimeout: pingInterval},
	}
	if s.web != nil && s.web.HasTLS() {
		h.TLSConfig = s.web.TLS("h2", "http/1.1")
	}
	return middleware.Serve(all, h, s.Logger, fail), nil
}

// beyond reports whether other machines reach one of the listeners.
func beyond(all []*middleware.Listener) bool {
	return slices.ContainsFunc(all, func(e *middleware.Listener) bool { return middleware.BeyondLoopback(e.Addr()) })
}

// openHTTP opens the addresses of the HTTP port: the sockets that systemd has passed, or else
// the addresses of --http. Where other machines reach one of them, requests may name this machine.
func (s *server) openHTTP() (all []*middleware.Listener, err error) {
	add := func(l net.Listener, key string) {
		all = append(all, &middleware.Listener{Listener: l, Key: key, Hosts: middleware.NewHosts(l.Addr(), s.HTTPHosts, middleware.MachineNames)})
	}
	defer func() {
		if err != nil {
			for _, e := range all {
				_ = e.Close() // err says more
			}
		}
	}()
	if files := s.activated["http"]; len(files) > 0 {
		for _, f := range files {
			l, err := inherited("http", f)
			if err != nil {
				return all, err
			}
			add(l, l.Addr().String())
		}
		return all, nil
	}
	for _, a := range s.HTTP {
		l, err := net.Listen("tcp", a.Addr)
		if err == nil {
			add(l, a.Addr)
		} else if err := s.addressInUse("http", a, err); err != nil {
			return all, err
		}
	}
	return all, nil
}

// activated returns the sockets that systemd has opened for this process, in order, by the names
// that the unit gives them (FileDescriptorName=).
func activated() (map[string][]*os.File, error) {
	all := make(map[string][]*os.File)
	for _, f := range activation.Files(false) {
		all[f.Name()] = append(all[f.Name()], f)
	}
	n := os.Getenv("LISTEN_FDS")
	if len(all) == 0 && n != "0" && os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		return nil, fmt.Errorf("socket activation: LISTEN_FDS is %q", n)
	}
	return all, nil
}

// inherited returns a socket that systemd has passed under name.
func inherited(name string, f *os.File) (net.Listener, error) {
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("socket %s of systemd: %w", name, err)
	}
	_ = f.Close() // l has its own copy
	return l, nil
}

// listenLocal opens the socket in the database's folder.
func (s *server) listenLocal(fail context.CancelCauseFunc) (*middleware.Server, error) {
	l, err := rpc.ListenLocal(s.DB, s.Socket)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(api.Prefix, s.queries)
	s.commands = &rpc.Commands{Store: s.store, Command: s.receivers.command}
	mux.Handle(s.rpc.Handler(s.commands))
	mux.Handle(rondov1.NewClusterHandler(s.operators(), rpc.Limits()))
	s.Logger.Info("listening", "for", "command line", "network", "unix", "addr", absolute(l.Addr().String()))
	return middleware.Serve([]net.Listener{netutil.LimitListener(l, localConns)}, &http.Server{
		Handler:           refusePages(mux),
		ReadHeaderTimeout: localHeader,
		IdleTimeout:       localIdle,
	}, s.Logger, fail), nil
}

// refusePages refuses requests of web pages. A browser cannot reach the socket directly, but a
// proxy may pass its requests on, and a caller at the socket may do everything.
func refusePages(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Mode") != "" {
			http.Error(w, "this socket is for commands, and takes nothing from web pages", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// rrdcachedListener returns what the file of --web-config says of an address of rrdcached's
// protocol, and its listener with TLS if that is wanted. The key rrdcached is for TCP: sockets in
// the file system have keys of their own. secured reports whether credentials are asked for now: a
// new file may change that.
func (s *server) rrdcachedListener(l net.Listener, a rrdcached.Address) (_ net.Listener, d rrdcached.Access, secured func() bool) {
	d.Allow = a.Allow
	secured = func() bool { return false }
	name, certificate := webconfig.RRDCachedListener, s.daemonTLS
	if a.Network == "unix" {
		name, certificate = a.String(), nil
	}
	if s.web != nil {
		rules := func() webconfig.Listener { return s.web.Config().Listener(name, a.String()) }
		if rules().TLS {
			certificate = s.web
		}
		secured = func() bool { return rules().Auth }
		d.User = func() *access.User {
			if r := rules(); !r.Auth {
				return r.Cap(access.Everything())
			}
			return nil
		}
		d.Token = func(text string) (*access.User, error) { return s.web.Token(text, rules()) }
	}
	if certificate != nil {
		l = tls.NewListener(l, certificate.TLS())
	}
	return l, d, secured
}
