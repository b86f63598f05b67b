package server

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc"
)

// bounds are the limits of the HTTP port. A client is an address.
type bounds struct {
	conns, clientConns     int           // connections: all, and of one client; so in the lines below
	pending, clientPending int           // requests that have begun, including those that wait
	places, clientPlaces   int           // requests that are being handled
	writes, clientWrites   int           // requests that bring samples, which wait for the disk
	scrapes, clientScrapes int           // requests for /metrics
	graphs, clientGraphs   int           // requests for graphs, waiting or not
	queries, clientQueries int           // requests of Prometheus' API that read series, likewise
	commands, clientCmds   int           // commands that run, and sessions of pipe mode
	flows, clientFlows     int           // requests that stream
	streams                int           // requests at a time on one connection of HTTP/2
	patience               time.Duration // how long a request waits for a place
	work, command          time.Duration // how long a request may be handled, and a command
	body                   int64         // bytes of the body of one request
	bodies, clientBodies   int64         // bytes of bodies in memory
	answers, clientAnswers int64         // bytes of answers in memory
	send, read             pace          // how slowly a client may send a request, and read an answer
	header, idle           time.Duration // time for the head of a request, and until the next one
}

// minAnswers is how many bytes answers may always occupy, however small the budget of the store is.
const minAnswers = 16 << 20

// defaultBounds returns the limits of a server whose store has a budget of memory bytes.
func defaultBounds(memory int64) bounds {
	answers := max(memory/8, minAnswers)
	return bounds{
		conns: 1024, clientConns: 512,
		pending: 1024, clientPending: 256,
		places: 32, clientPlaces: 24,
		writes: 64, clientWrites: 48,
		scrapes: 4, clientScrapes: 2,
		graphs: 128, clientGraphs: 64,
		queries: 128, clientQueries: 64,
		commands: 64, clientCmds: 32,
		flows: 64, clientFlows: 32,
		streams:  100,
		patience: 5 * time.Second,
		work:     2 * time.Minute, command: 10 * time.Minute,
		body:   rpc.MaxRequestBytes + 1<<10, // a message and the frame of gRPC around it
		bodies: max(memory/32, 4*rpc.MaxRequestBytes), clientBodies: max(memory/64, 2*rpc.MaxRequestBytes),
		answers: answers, clientAnswers: answers / 2,
		send: pace{10 * time.Second, 64 << 10}, read: pace{20 * time.Second, 64 << 10},
		header: 10 * time.Second, idle: 2 * time.Minute,
	}
}

// A gate is the first handler of the HTTP port. It answers health checks itself, at any time. It
// refuses requests that web pages send through a browser. It reads a request completely before the
// request gets a place. And it bounds the share of each client in all limits.
type gate struct {
	bounds
	log     *slog.Logger
	hosts   *hosts
	guard   guard                        // does not change once requests are let through
	state   atomic.Pointer[string]       // why the server is not ready; nil: it is ready
	inner   atomic.Pointer[http.Handler] // the next handler; nil: the store is not open yet
	scraped atomic.Pointer[http.Handler] // the handler of /metrics; nil: inner
	pending *limit.Limit                 // all requests that have begun
	work    *limit.Limit                 // requests that are being handled
	write   *limit.Limit                 // requests that bring samples
	scrape  *limit.Limit                 // requests for /metrics that are being handled
	graph   *limit.Limit                 // requests for graphs
	query   *limit.Limit                 // requests of Prometheus' API that read series
	command *limit.Limit                 // commands of the command line
	session *limit.Limit                 // sessions of pipe mode
	flowing *limit.Limit                 // requests that stream
	ended   chan struct{}                // closed when the server is about to stop
	bodies  *limit.Limit
	answers *limit.Limit
	refused [refusals]atomic.Uint64

	endpoints endpoints
	samples   map[string]bool // paths of receivers; it does not change after the first request

	mu   sync.Mutex // guards told
	told time.Time  // when a request by a foreign name was last logged
}

func newGate(b bounds, h *hosts, log *slog.Logger) *gate {
	g := &gate{
		bounds: b, log: log, hosts: h,
		pending: limit.New(int64(b.pending), int64(b.clientPending)),
		work:    limit.New(int64(b.places), int64(b.clientPlaces)),
		write:   limit.New(int64(b.writes), int64(b.clientWrites)),
		scrape:  limit.New(int64(b.scrapes), int64(b.clientScrapes)),
		graph:   limit.New(int64(b.graphs), int64(b.clientGraphs)),
		query:   limit.New(int64(b.queries), int64(b.clientQueries)),
		command: limit.New(int64(b.commands), int64(b.clientCmds)),
		session: limit.New(int64(b.commands), int64(b.clientCmds)),
		flowing: limit.New(int64(b.flows), int64(b.clientFlows)),
		bodies:  limit.New(b.bodies, b.clientBodies),
		answers: limit.New(b.answers, b.clientAnswers),

		endpoints: newEndpoints(),
		samples:   make(map[string]bool),
		ended:     make(chan struct{}),
	}
	g.setState("starting")
	return g
}

// receive makes room for requests to the paths of receivers.
func (g *gate) receive(paths []string) {
	g.endpoints.add(paths)
	for _, path := range paths {
		g.samples[path] = true
	}
}

func (g *gate) setState(s string) { g.state.Store(&s) }

// ready reports whether the gate lets requests through and the server is not about to stop.
func (g *gate) ready() bool { return g.state.Load() == nil }

// open lets requests through. Those for metrics and health, which have a room of their own, go to
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

// shed returns how many requests were refused because too many were under way.
func (g *gate) shed() uint64 {
	return g.refused[refusedPending].Load() + g.refused[refusedPlace].Load()
}

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

func unavailable(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, text, http.StatusServiceUnavailable)
}
