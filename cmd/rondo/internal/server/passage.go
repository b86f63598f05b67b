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
	"github.com/rondo-db/rondo/query/rpc"
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
	if in := g.admit(w, r, client); in != nil {
		g.serve(c, w, in, client)
	}
}

// serve reads a request of a user who may send it, waits for its place and lets a handler answer.
func (g *gate) serve(c *http.ResponseController, w http.ResponseWriter, r *http.Request, client string) {
	class, h := g.classOf(r), *g.inner.Load()
	held := g.memory.Open(client)
	defer held.Close()
	if class == watching {
		h = *g.scraped.Load()
	} else {
		g.begun.Add(1)
		defer g.begun.Add(-1)
		if held.Charge(requestBytes) != nil {
			g.refuse(w, r, refusedMemory)
			return
		}
	}
	in, err := g.arrive(c, r, held)
	if err != nil {
		g.refuseBody(w, r, err)
		return
	}
	leave, ok := g.enter(r, class, client)
	if !ok {
		g.refuse(w, r, refusedPlace)
		return
	}
	defer leave()
	in = in.WithContext(limit.With(r.Context(), held))
	switch {
	case class != lasting:
		g.pass(c, w, in, h, leave)
	case rpc.BeginsSession(r):
		h.ServeHTTP(w, in) // which takes the connection over
	default:
		g.stream(c, w, in, h)
	}
}

// arrive returns r with its whole body in memory, so that a client that sends slowly takes no
// place. It leaves the body of a client that streams to the handler.
func (g *gate) arrive(c *http.ResponseController, r *http.Request, held *limit.Account) (*http.Request, error) {
	if flows[r.URL.Path] == bothWays || rpc.BeginsSession(r) {
		return r, nil
	}
	most := int64(bodyBytes)
	if commands(r.URL.Path) {
		most = rpc.MaxCommandBytes
	}
	body, err := readBody(c, r, most, g.send, held)
	if err != nil {
		return nil, err
	}
	whole := r.WithContext(r.Context())
	if whole.Body = http.NoBody; body != nil {
		whole.Body = receivers.NewWholeBody(body)
	}
	whole.ContentLength = int64(len(body))
	return whole, nil
}

// enter waits for a place of a class. leave frees the place, and may be called again.
func (g *gate) enter(r *http.Request, of class, client string) (leave func(), ok bool) {
	if of != samples && !g.places[of].Wait(r.Context(), client, 1, g.patience) {
		return nil, false
	}
	conn := connOf(r.Context())
	conn.admit()
	return sync.OnceFunc(func() {
		if of != samples {
			g.places[of].Give(client, 1)
		}
		conn.leave()
	}), true
}

// pass lets h answer, and calls leave when it begins to. The connection has no deadlines while h
// works, because a deadline that passed would cancel the request although its client is waiting.
func (g *gate) pass(c *http.ResponseController, w http.ResponseWriter, r *http.Request, h http.Handler, leave func()) {
	work := g.work
	if commands(r.URL.Path) { // which work on while they print
		work, leave = commandTime, func() {}
	}
	ctx, cancel := context.WithTimeout(r.Context(), work)
	defer cancel()
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Time{})
	a := &answer{ResponseWriter: w, control: c, pace: g.read, begun: leave}
	h.ServeHTTP(a, r.WithContext(ctx))
	a.end()
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
