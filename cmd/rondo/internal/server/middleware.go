package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/web"
	"github.com/rondo-db/rondo/receivers"
)

// A gate is the first handler of the HTTP port. It answers health checks itself, at any time. It
// refuses requests that web pages send through a browser. It reads a request completely before the
// request gets a place. And each client has a share of all limits.
type gate struct {
	bounds
	log     *slog.Logger
	hosts   *hosts
	guard   guard                        // does not change once requests are let through
	state   atomic.Pointer[string]       // why the server is not ready; nil: it is ready
	inner   atomic.Pointer[http.Handler] // the next handler; nil: the store is not open yet
	scraped atomic.Pointer[http.Handler] // the handler of requests that watch; likewise
	places  [classes]*limit.Limit        // of requests that are worked on
	memory  *limit.Limit                 // bytes that requests and answers hold
	begun   atomic.Int64                 // requests that have begun and not ended
	ended   chan struct{}                // closed when the server is about to stop
	refused [refusals]atomic.Uint64

	endpoints endpoints
	samples   map[string]bool // paths of receivers; it does not change after the first request

	mu   sync.Mutex // guards told
	told time.Time  // when a request by a foreign name was last logged
}

func newGate(b bounds, h *hosts, log *slog.Logger) *gate {
	g := &gate{
		bounds: b, log: log, hosts: h, memory: b.memory.limit(),
		endpoints: newEndpoints(),
		samples:   make(map[string]bool),
		ended:     make(chan struct{}),
	}
	for i := range g.places {
		g.places[i] = b.places[i].limit()
	}
	g.setState("starting")
	return g
}

// receive notes the paths of receivers.
func (g *gate) receive(paths []string) {
	g.endpoints.add(paths)
	for _, path := range paths {
		g.samples[path] = true
	}
}

func (g *gate) setState(s string) { g.state.Store(&s) }

// ready reports whether the gate lets requests through and the server is not about to stop.
func (g *gate) ready() bool { return g.state.Load() == nil }

// open lets requests through. Those that watch the server go to
// metrics, all others to h.
func (g *gate) open(h, metrics http.Handler) {
	g.scraped.Store(&metrics)
	g.inner.Store(&h)
	g.state.Store(nil)
}

// stopping makes the server not ready, and ends the requests that would never end. The gate goes on
// serving.
func (g *gate) stopping() {
	g.setState("stopping")
	close(g.ended)
}

// shed returns how many requests were refused because too many were under way or held too much.
func (g *gate) shed() uint64 {
	return g.refused[refusedPlace].Load() + g.refused[refusedMemory].Load()
}

// working returns how many requests have a place, beside those that last and those that watch.
func (g *gate) working() int64 { return g.places[cheap].Used() + g.places[heavy].Used() }

// admit returns r with its user in the context. If the sender may not do what r asks, admit answers
// the request and returns nil.
func (g *gate) admit(w http.ResponseWriter, r *http.Request, client string) *http.Request {
	in, err := g.guard.check(r, client)
	if err == nil {
		return in
	}
	var e *refusedError
	if !errors.As(err, &e) {
		e = &refusedError{refusedUser, err.Error()}
	}
	if e.why == refusedUser {
		for _, c := range g.guard.challenges() {
			w.Header().Add("WWW-Authenticate", c)
		}
	}
	g.refuseWith(w, r, e.why, e.text)
	return nil
}

// refuseWith answers a refused request in the form of its protocol, and counts it.
func (g *gate) refuseWith(w http.ResponseWriter, r *http.Request, why refusal, text string) {
	g.refused[why].Add(1)
	t := refusalTexts[why]
	decline(w, r, func(w http.ResponseWriter) {
		// JSON looks like RPC, but is also what senders of OTLP send.
		if e := connect.NewErrorWriter(); e.IsSupported(r) && !g.samples[r.URL.Path] {
			_ = e.Write(w, r, connect.NewError(t.rpc, errors.New(text))) // the client may be gone
			return
		}
		if t.code == http.StatusServiceUnavailable || t.code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		http.Error(w, text+".", t.code)
	})
}

// refuse answers a refused request in the form of its protocol, and counts it.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request, why refusal) {
	g.refuseWith(w, r, why, refusalTexts[why].text)
}

// strangerPause is the least time between two log lines about requests by foreign names.
const strangerPause = time.Minute

// stranger counts a request by a foreign name, and logs one now and then.
func (g *gate) stranger(r *http.Request, why string) {
	g.refused[refusedHost].Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.told) >= strangerPause {
		g.told = now
		g.log.Warn("request refused", "from", r.RemoteAddr, "path", strings.ToValidUTF8(r.URL.Path, "?"), "why", why)
	}
}

// classOf returns the class of a request.
func (g *gate) classOf(r *http.Request) class {
	switch path := r.URL.Path; {
	case path == "/metrics", path == rpc.HealthProcedure:
		return watching
	case rpc.BeginsSession(r), flows[path] != oneMessage:
		return lasting
	case web.Draws(path), api.Queries(path), path == rondov1.RondoQueryProcedure, commands(path):
		return heavy
	case g.samples[path]:
		return samples
	}
	return cheap
}

// commands reports whether requests for a path run a command of the command line.
func commands(path string) bool {
	return path == rondov1.RondoExecProcedure
}

func unavailable(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, text, http.StatusServiceUnavailable)
}

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
