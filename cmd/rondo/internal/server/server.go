// Package server is what `rondo serve` runs: a store, the receivers that feed it, and the HTTP port and
// the socket that read it back.
//
// [Run] opens everything, says what it listens on, and returns when its context has ended and all that
// was received has been stored.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/systemd"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/unixsocket"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// A Config is what a server is made from.
type Config struct {
	DB      string // the database's folder
	Version string
	Engine  core.Options
	HTTP    Address
	Socket  unixsocket.Access // who may connect to the command line's socket
	// HTTPHosts are names that the HTTP port answers to beside its own; "*" stands for every name.
	HTTPHosts []string
	// Ways are the ways in.
	Ways Ways
	// RRDCached is where rrdcached's protocol is spoken.
	RRDCached RRDCached
	// MaxFuture is how far ahead of the clock a sample may be; 0: one hour, negative: no limit.
	MaxFuture time.Duration
	// Limits are those of senders; its Policy is that of Ways.
	Limits sink.Options
	// Memory bounds the Go heap of the process; 0: the limit that GOMEMLIMIT says.
	Memory int64
	// Grace is how long open requests may take at the end; 0: 5 s.
	Grace time.Duration
	// Reload gives the ways in after a change of the configuration; nil: they never change.
	Reload <-chan Ways
	Getenv func(string) string // systemd's variables; nil: none
	Logger *slog.Logger        // nil: silent
	// Ready, if not nil, is called once everything listens.
	Ready func(Addresses)

	bounds *bounds // of the HTTP port; nil: the default ones
}

// Ways are the ways into a store. They may change while the server runs.
type Ways struct {
	// Receivers are the protocols, each with its settings; one without an address is off.
	Receivers []Receiver
	// Policy decides about new series; nil: the protocols do.
	Policy *sink.Policy
	// Err says why a configuration that was read again cannot be taken; nil: it can.
	Err error
	// Restart is how many settings of a configuration that was read again need a restart.
	Restart int
}

// An Address is a listen address. One that was named must be had; a default one may be taken.
type Address struct {
	Addr  string
	Named bool
}

// A Receiver is one protocol with its settings.
type Receiver struct {
	Protocol receivers.Protocol
	Address  Address
	Options  map[string][]string
}

// Addresses is what a server listens on.
type Addresses struct {
	HTTP      net.Addr // nil: off
	Socket    string
	Receivers map[string]net.Addr // by protocol
	RRDCached []net.Addr
}

func (c Config) withDefaults() Config {
	if c.Grace <= 0 {
		c.Grace = 5 * time.Second
	}
	if c.MaxFuture == 0 {
		c.MaxFuture = receivers.DefaultMaxFuture
	}
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ready == nil {
		c.Ready = func(Addresses) {}
	}
	return c
}

// A server is one running Config.
type server struct {
	Config
	started     time.Time
	rpc         *rpc.Server
	reloads     reloads
	store       *core.Store
	page        *gate
	http        *listener
	connections *connections // of http
	local       *listener
	commands    *rpc.Local // what is served at local
	receivers   *manager
	daemon      *daemon // nil: rrdcached's protocol is not spoken
	swept       swept
	activated   map[string][]*os.File
	opened      int      // ways in that listen, or read files
	missed      []string // default addresses that could not be had, as flags
}

// Run serves until ctx ends, then drains, stores what was received, closes the store and returns nil.
// Another error says why it could not start, or go on.
func Run(ctx context.Context, c Config) error {
	s := &server{Config: c.withDefaults(), started: time.Now()}
	if s.Memory > 0 && s.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.Memory)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := s.start(stop)
	if err == nil {
		err = s.serve(ctx)
	}
	return errors.Join(err, s.stop())
}

// start opens everything. What it has opened when it meets an error, stop closes.
func (s *server) start(fail context.CancelCauseFunc) error {
	var err error
	if s.activated, err = systemd.Files(s.Getenv, os.Getpid()); err != nil {
		return err
	}
	if err := s.early(); err != nil {
		return err
	}
	// The port first: a mistake in the configuration is told before a long recovery, and
	// who asks meanwhile is told to wait.
	if s.http, err = s.listenHTTP(fail); err != nil {
		return err
	}
	if err := s.free(); err != nil {
		return err
	}
	if s.store, err = core.Open(s.DB, s.Engine); err != nil {
		return s.opening(err)
	}
	s.Logger.Info("database open", "dir", absolute(s.DB), "series", s.store.Stats().Series,
		"recovery", time.Since(s.started).Round(time.Millisecond))
	s.rpc = s.newRPC()
	s.receivers = newManager(s)
	if err := s.receivers.start(s.Ways, fail); err != nil {
		return err
	}
	if s.daemon, err = s.listenRRDCached(fail); err != nil {
		return err
	}
	if err := s.heard(); err != nil {
		return err
	}
	if s.local, err = s.listenLocal(fail); err != nil {
		return err
	}
	s.page.open(s.handlers())
	return nil
}

// serve runs until ctx ends.
func (s *server) serve(ctx context.Context) error {
	addrs := Addresses{Socket: filepath.Join(s.DB, rpc.SocketName), Receivers: s.receivers.addrs()}
	if s.http != nil {
		addrs.HTTP = s.http.Addr()
	}
	if s.daemon != nil {
		addrs.RRDCached = s.daemon.addrs
	}
	s.Logger.Info("ready", "after", time.Since(s.started).Round(time.Millisecond))
	s.notify(systemd.Ready)
	s.Ready(addrs)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.record(ctx) })
	wg.Go(func() { s.watchdog(ctx) })
	wg.Go(func() { s.sweep(ctx) })
	for {
		select {
		case <-ctx.Done():
			s.page.stopping()
			s.notify(systemd.Stopping)
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			s.Logger.Info("stopping")
			return nil
		case w := <-s.Reload:
			s.notify(systemd.Reloading, fmt.Sprintf("MONOTONIC_USEC=%d", monotonic().Microseconds()))
			s.reload(w)
			s.notify(systemd.Ready)
		}
	}
}

// stop closes what start opened, ways in first: what they have taken is stored before the store closes.
func (s *server) stop() error {
	var errs []error
	doors := newWaits(s.Logger)
	if s.daemon != nil {
		doors.run("clients of rrdcached's protocol", s.daemon.stop)
	}
	if s.receivers != nil {
		doors.run("receivers", s.receivers.stop)
	}
	doors.run("requests", func() { errs = s.endRequests() })
	doors.wait()
	if s.store != nil {
		store := newWaits(s.Logger)
		store.run("the database, which writes what is in memory", func() {
			if err := s.store.Close(); err != nil {
				errs = append(errs, fmt.Errorf("close %s: %w", s.DB, err))
			} else {
				s.Logger.Info("database closed", "dir", absolute(s.DB))
			}
		})
		store.wait()
	}
	return errors.Join(errs...)
}

// endRequests lets open requests end, all at the same time and at most for the grace, and cuts off what is left.
func (s *server) endRequests() (errs []error) {
	if s.page == nil {
		return nil // nothing was opened
	}
	if n := s.page.pending.inside(); n > 0 {
		s.Logger.Info("waiting for open requests", "requests", n, "at most", s.Grace)
	}
	var wg sync.WaitGroup
	ended := make([]error, 2)
	for i, l := range []*listener{s.http, s.local} {
		if l != nil {
			wg.Go(func() { ended[i] = l.shutdown(s.Grace, s.Logger) })
		}
	}
	if s.commands != nil {
		wg.Go(func() { s.commands.Close(s.Grace / 2) }) // which waits twice as long at most
	}
	wg.Wait()
	return ended
}

func (s *server) notify(state ...string) {
	if err := systemd.Notify(s.Getenv, state...); err != nil {
		s.Logger.Warn("systemd does not listen", "err", err)
	}
}

// watchdog tells systemd that the process lives for as long as the store answers.
func (s *server) watchdog(ctx context.Context) {
	d := systemd.WatchdogInterval(s.Getenv, os.Getpid())
	if d == 0 {
		return
	}
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.store.Stats()
			s.notify(systemd.Watchdog)
		}
	}
}

func (s *server) newRPC() *rpc.Server {
	return &rpc.Server{Store: s.store, Version: s.Version, Started: s.started, MaxFuture: s.MaxFuture}
}

// handlers are what the HTTP port serves once the store is open; those of /metrics and of gRPC's health stand by themselves.
func (s *server) handlers() (all, scrapes http.Handler) {
	mux, metrics := http.NewServeMux(), http.NewServeMux()
	mux.Handle(s.rpc.Handler())
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /rondo.proto", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(rpc.Proto) // the client may be gone
	})
	metrics.HandleFunc("GET /metrics", s.metrics)
	metrics.Handle(rpc.HealthProcedure, rpc.HealthHandler(s.page.ready))
	return mux, metrics
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
