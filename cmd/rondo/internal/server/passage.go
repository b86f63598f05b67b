package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/web"
	"github.com/rondo-db/rondo/receivers"
)

// ServeHTTP answers health checks itself, and lets other requests in or refuses them.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	// A write deadline outlives its request, so each request sets its own. Setting a deadline does
	// not fail on the connections of this server.
	_ = c.SetReadDeadline(g.send.deadline(time.Now(), 0))
	_ = c.SetWriteDeadline(g.read.deadline(time.Now(), 0))
	conn := connOf(r.Context())
	defer readRest(c, r, conn) // after everything else, when the request occupies nothing
	conn.begin()
	defer conn.end()
	if g.guard.headers != nil {
		g.guard.headers(w.Header())
	}
	switch r.URL.Path {
	case "/-/healthy":
		_, _ = io.WriteString(w, "rondo is healthy.\n") // the client may be gone
		return
	case "/-/ready":
		if s := g.state.Load(); s != nil {
			unavailable(w, "rondo is "+*s+".")
			return
		}
		_, _ = io.WriteString(w, "rondo is ready.\n")
		return
	}
	began := time.Now()
	defer func() { g.endpoints.of(r.URL.Path).Observe(time.Since(began)) }()
	if why := hostsOf(r, g.hosts).refuse(r); why != "" {
		g.stranger(r, why)
		decline(w, r, func(w http.ResponseWriter) {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			http.Error(w, why+".", http.StatusForbidden)
		})
		return
	}
	if g.inner.Load() == nil {
		decline(w, r, func(w http.ResponseWriter) { unavailable(w, "rondo is starting.") })
		return
	}
	client := sockets.ClientOf(r.RemoteAddr)
	in := g.admit(w, r, client)
	if in == nil {
		return
	}
	g.dispatch(c, w, in, client)
}

// dispatch lets a request of a user who may send it wait for its place, and answers it.
func (g *gate) dispatch(c *http.ResponseController, w http.ResponseWriter, r *http.Request, client string) {
	conn := connOf(r.Context())
	if r.URL.Path == "/metrics" {
		g.metrics(c, w, r, client)
		return
	}
	if r.URL.Path == rpc.HealthProcedure {
		g.serve(c, w, r, *g.scraped.Load(), client, conn, g.scrape)
		return
	}
	if rpc.BeginsSession(r) {
		g.converse(w, r, client, conn)
		return
	}
	if !g.pending.Take(client, 1) {
		g.refuse(w, r, refusedPending)
		return
	}
	defer g.pending.Give(client, 1)
	if flows[r.URL.Path] != oneMessage {
		g.stream(c, w, r, *g.inner.Load(), client)
		return
	}
	in := g.work
	switch {
	case web.Draws(r.URL.Path):
		in = g.graph // graphs that wait for their turn keep nobody from the other places
	case api.Queries(r.URL.Path), r.URL.Path == rondov1.RondoQueryProcedure:
		in = g.query // likewise
	case g.samples[r.URL.Path]:
		in = g.write // likewise
	case r.URL.Path == rondov1.RondoExecProcedure, r.URL.Path == rondov1.RondoCompactProcedure:
		in = g.command // likewise
	}
	g.serve(c, w, r, *g.inner.Load(), client, conn, in)
}

// converse lets a request turn its connection into a session of pipe mode. A session occupies a
// place of its own kind until it ends.
func (g *gate) converse(w http.ResponseWriter, r *http.Request, client string, conn *conn) {
	if !g.session.Take(client, 1) {
		g.refuse(w, r, refusedPlace)
		return
	}
	defer g.session.Give(client, 1)
	conn.admit()
	defer conn.leave()
	(*g.inner.Load()).ServeHTTP(w, r)
}

// metrics answers /metrics, which has places of its own. The page is complete before it is sent, so
// a slow reader occupies no place.
func (g *gate) metrics(c *http.ResponseController, w http.ResponseWriter, r *http.Request, client string) {
	if !g.scrape.Wait(r.Context(), client, 1, g.patience) {
		g.refuse(w, r, refusedPlace)
		return
	}
	leave := sync.OnceFunc(func() { g.scrape.Give(client, 1) })
	defer leave()
	g.pass(c, w, r, *g.scraped.Load(), leave)
}

// pass lets h answer. The connection has no deadlines while h works, because a deadline that passed
// would cancel the request although its client is waiting.
func (g *gate) pass(c *http.ResponseController, w http.ResponseWriter, r *http.Request, h http.Handler, begun func()) {
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Time{})
	a := &answer{ResponseWriter: w, control: c, pace: g.read, begun: begun}
	h.ServeHTTP(a, r)
	a.end()
}

// serve reads the request, waits for a place in a room and lets h answer.
func (g *gate) serve(c *http.ResponseController, w http.ResponseWriter, r *http.Request, h http.Handler, client string, conn *conn, in *limit.Limit) {
	arriving := g.bodies.Open(client)
	defer arriving.Close()
	most, work := g.body, g.bounds.work
	if in == g.command {
		most, work = rpc.MaxCommandBytes, g.bounds.command
	}
	body, err := readBody(c, r, most, g.send, arriving)
	if err != nil {
		g.refuseBody(w, r, err)
		return
	}
	if !in.Wait(r.Context(), client, 1, g.patience) {
		g.refuse(w, r, refusedPlace)
		return
	}
	conn.admit()
	leave := sync.OnceFunc(func() {
		in.Give(client, 1)
		conn.leave()
	})
	defer leave()
	held := g.answers.Open(client)
	defer held.Close()
	ctx, cancel := context.WithTimeout(limit.With(r.Context(), held), work)
	defer cancel()
	whole := r.WithContext(ctx)
	if whole.Body = http.NoBody; body != nil {
		whole.Body = receivers.NewWholeBody(body)
	}
	whole.ContentLength = int64(len(body))
	begun := leave
	if in == g.command { // it works on while it prints
		begun = func() {}
	}
	g.pass(c, w, whole, h, begun)
}

// refuseBody answers a request whose body was not read.
func (g *gate) refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errBodyLong):
		g.refuse(w, r, refusedLong)
	case errors.Is(err, errBodySlow):
		g.refuse(w, r, refusedSlow)
	case errors.Is(err, limit.ErrMemory):
		g.refuse(w, r, refusedMemory)
	default:
		decline(w, r, func(w http.ResponseWriter) {
			http.Error(w, "the request did not arrive: "+err.Error(), http.StatusBadRequest)
		})
	}
}
