// Package server is the server behind `rondo serve`: a store, the receivers that write to it, and
// the HTTP port and the socket that read it.
//
// [Run] opens all of them, logs the addresses, and returns after its context has ended and all
// samples that were received are stored.
package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
)

// Run serves until ctx ends. It then stops the receivers, stores the samples that they have
// received, closes the store and returns nil. An error says why the server could not start, or go
// on.
func Run(ctx context.Context, c Config) error {
	s := &server{Config: c.withDefaults(), started: time.Now()}
	if s.Memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.Memory)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := s.start(ctx, stop)
	switch {
	case err == nil:
		err = s.serve(ctx)
	case errors.Is(context.Cause(ctx), context.Canceled):
		s.Logger.Info("stopping before the start has ended", "it_failed_with", err)
		err = nil
	}
	return errors.Join(err, s.stop())
}

// start opens everything. After an error, stop closes the parts that are open. A node that waits
// for its cluster waits no longer when ctx ends.
func (s *server) start(ctx context.Context, fail context.CancelCauseFunc) error {
	var err error
	if s.activated, err = activated(); err != nil {
		return err
	}
	if err := s.validate(); err != nil {
		return err
	}
	// The port comes first. A mistake in the configuration is then reported before a long recovery,
	// and clients are asked to wait meanwhile.
	if s.http, err = s.listenHTTP(fail); err != nil {
		return err
	}
	if err := s.free(); err != nil {
		return err
	}
	if s.rules, err = s.newRules(); err != nil {
		return err
	}
	if err := s.openStore(ctx, fail); err != nil {
		return err
	}
	s.rpc = s.newRPC()
	s.pages = s.newPages()
	s.queries = s.newQueries()
	s.receivers = newManager(s)
	if err := s.receivers.start(s.Ways, fail); err != nil {
		return err
	}
	if s.daemon, err = s.listenRRDCached(fail); err != nil {
		return err
	}
	s.figures = s.newFigures()
	if s.local, err = s.listenLocal(fail); err != nil {
		return err
	}
	all, scrapes := s.handlers()
	s.middleware.Authorizer.Permission = all.Permission
	s.middleware.Open(all, scrapes)
	return nil
}

// serve runs until ctx ends.
func (s *server) serve(ctx context.Context) error {
	addrs := Addresses{Socket: filepath.Join(s.DB, rpc.SocketName), Receivers: s.receivers.addrs()}
	if s.http != nil {
		addrs.HTTP = s.http.Addr()
		addrs.Page = pageAt(addrs.HTTP, s.web != nil && s.web.HasTLS())
		for _, e := range s.httpListeners {
			addrs.AllHTTP = append(addrs.AllHTTP, e.Addr())
		}
	}
	if s.daemon != nil {
		addrs.RRDCached = s.daemon.addrs
	}
	s.Logger.Info("ready", "after", time.Since(s.started).Round(time.Millisecond))
	s.notify(systemd.SdNotifyReady)
	s.Ready(addrs)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.figures.Record(ctx) })
	wg.Go(func() { s.observe(ctx) })
	wg.Go(func() { s.watchdog(ctx) })
	wg.Go(func() { s.sweep(ctx) })
	wg.Go(func() { s.rules.Run(ctx) })
	if s.shared != nil {
		wg.Go(func() { s.shared.Run(ctx) })
	}
	if s.Backups.Dir != "" {
		wg.Go(func() { s.backups.Run(ctx) })
	}
	again := s.Reload
	for {
		select {
		case <-ctx.Done():
			s.middleware.Stopping()
			s.notify(systemd.SdNotifyStopping)
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			s.Logger.Info("stopping")
			return nil
		case w := <-again:
			s.notify(systemd.SdNotifyReloading + "\n" + systemd.SdNotifyMonotonicUsec())
			again = nil // the next one waits
			done := make(chan struct{})
			s.reloading = done
			go func() { // it reads files, and a file system may hang: stop waits only so long
				defer close(done)
				s.reload(w)
			}()
		case <-s.reloading:
			again, s.reloading = s.Reload, nil
			s.notify(systemd.SdNotifyReady)
		}
	}
}

// reloadPatience is how long the end of the server waits for a reload that is under way.
const reloadPatience = time.Second

// stop closes what start has opened. Receivers come first, so that the samples they have accepted
// are stored before the store closes.
func (s *server) stop() error {
	var errs []error
	doors := newWaits(s.Logger)
	if s.reloading != nil {
		doors.run("a reload", func() {
			select {
			case <-s.reloading:
			case <-time.After(reloadPatience):
				s.Logger.Warn("the end does not wait for files that are being read again")
			}
		})
	}
	if s.daemon != nil {
		doors.run("clients of rrdcached's protocol", s.daemon.stop)
	}
	if s.receivers != nil {
		doors.run("receivers", s.receivers.stop)
	}
	doors.run("requests", func() { errs = s.endRequests() })
	doors.wait()
	return errors.Join(append(errs, s.closeStore())...)
}

// endRequests waits for the open requests of all listeners at the same time, at most for the grace,
// and cancels the rest.
func (s *server) endRequests() (errs []error) {
	if s.middleware == nil {
		return nil // nothing was opened
	}
	if n := s.middleware.Stats().Pending; n > 0 {
		s.Logger.Info("waiting for open requests", "requests", n, "at most", s.Grace)
	}
	var wg sync.WaitGroup
	ended := make([]error, 2)
	for i, l := range []*middleware.Server{s.http, s.local} {
		if l != nil {
			wg.Go(func() { ended[i] = l.Shutdown(s.Grace, s.Logger) })
		}
	}
	for _, l := range []*rpc.Commands{s.commands, s.remote} {
		if l != nil {
			wg.Go(func() { l.Close(s.Grace / 2) }) // waits at most twice the time it is given
		}
	}
	wg.Wait()
	return ended
}

// watchdog reports to systemd that the process is alive, as long as the store answers.
func (s *server) watchdog(ctx context.Context) {
	allowed, err := systemd.SdWatchdogEnabled(false)
	for err == nil && allowed > 0 && sleep.For(ctx, allowed/2) == nil {
		s.store.Stats()
		s.notify(systemd.SdNotifyWatchdog)
	}
}

func (s *server) newRPC() *rpc.Server {
	var pages rpc.Pages = dashboards.In(s.DB)
	if s.shared != nil {
		pages = s.shared
	}
	return &rpc.Server{
		Store: s.store, Version: s.Version, Started: s.started, MaxFuture: s.MaxFuture, ProblemsOf: s.problemsOf, Report: s.report, ReportAlerts: s.reportAlerts,
		Pages: pages, MaySave: !beyond(s.httpListeners),
		Make: s.makeNewcomers, Evaluate: s.evaluate, Ending: s.middleware.Ended(),
	}
}

// handlers returns the handlers of the HTTP port once the store is open: one for all paths, and one
// for /metrics and gRPC's health check.
func (s *server) handlers() (all, scrapes *middleware.Routes) {
	mux, metrics := new(middleware.Routes), new(middleware.Routes)
	s.mountRPC(mux)
	mux.Handle(rondov1.NewClusterHandler(s.operators(), rpc.Limits()))
	mountReflection(mux)
	mux.Handle("/", s.pages)
	mux.Handle(api.Prefix, s.queries)
	s.receivers.mount(mux, s.Ways)
	mux.Handle("GET /login", http.HandlerFunc(s.login))
	for name, text := range map[string][]byte{"rondo.proto": rpc.Proto, "rondo_types.proto": types.Proto} {
		mux.Handle("GET /"+name, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write(text) // the client may be gone
		}))
	}
	metrics.Handle("GET /metrics", s.figures)
	metrics.Handle(rpc.HealthProcedure, rpc.HealthHandler(s.middleware.Ready))
	return mux, metrics
}
