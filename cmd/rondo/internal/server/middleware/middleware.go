// Package middleware is what a request of the HTTP port passes before a handler answers it: limits
// of connections, of memory and of places, credentials and roles, deadlines, and the names that the
// port answers to.
package middleware

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/web"
	"github.com/rondo-db/rondo/receivers"
)

// A Handler is the first handler of the HTTP port. It answers health checks itself, at any time.
// It refuses requests that web pages send through a browser. It reads a request completely before
// the request gets a place. And each client has a share of all limits.
type Handler struct {
	Bounds
	log        *slog.Logger
	Hosts      *Hosts
	Authorizer Authorizer                   // does not change once requests are let through
	state      atomic.Pointer[string]       // why the server is not ready; nil: it is ready
	inner      atomic.Pointer[http.Handler] // the next handler; nil: the store is not open yet
	scraped    atomic.Pointer[http.Handler] // the handler of requests that watch; likewise
	places     [classes]*limit.Limit        // of requests that are worked on
	memory     *limit.Limit                 // bytes that other requests and answers hold
	// arriving is the memory of requests that bring samples. Nobody can keep samples out by reading
	// large answers slowly.
	arriving *limit.Limit
	begun    atomic.Int64  // requests that have begun and not ended
	ended    chan struct{} // closed when the server is about to stop
	refused  [rejections]atomic.Uint64

	endpoints endpoints
	samples   map[string]bool // paths of receivers; it does not change after the first request

	mu     sync.Mutex // guards logged
	logged time.Time  // when a request by a foreign name was last logged
}

// New returns a handler that refuses requests until Open is called.
func New(b Bounds, h *Hosts, log *slog.Logger) *Handler {
	m := &Handler{
		Bounds: b, log: log, Hosts: h, memory: b.Memory.limit(), arriving: b.arriving.limit(),
		endpoints: newEndpoints(),
		samples:   make(map[string]bool),
		ended:     make(chan struct{}),
	}
	for i := range m.places {
		m.places[i] = b.Places[i].limit()
	}
	m.setState("starting")
	return m
}

// Receive notes the paths of receivers.
func (m *Handler) Receive(paths []string) {
	m.endpoints.add(paths)
	for _, path := range paths {
		m.samples[path] = true
	}
}

func (m *Handler) setState(s string) { m.state.Store(&s) }

// Ready reports whether the middleware lets requests through and the server is not about to stop.
func (m *Handler) Ready() bool { return m.state.Load() == nil }

// Open lets requests through. Those that watch the server go to metrics, all others to h.
func (m *Handler) Open(h, metrics http.Handler) {
	m.scraped.Store(&metrics)
	m.inner.Store(&h)
	m.state.Store(nil)
}

// Stopping makes the server not ready, and ends the requests that would never end. The middleware
// goes on serving.
func (m *Handler) Stopping() {
	m.setState("stopping")
	close(m.ended)
}

// Stats says how the requests of the HTTP port fared.
type Stats struct {
	Shed      uint64             // refused because too many were under way or held too much
	Pending   int64              // begun and not ended, those that wait included
	Working   int64              // have a place, beside those that last and those that watch
	Held      int64              // bytes that requests and answers hold, as they are charged
	HeldLimit int64              // bytes that they may hold
	ConnLimit int64              // connections that may be open
	Refused   [rejections]uint64 // requests not let in, by reason
}

// Stats returns how the requests have fared so far.
func (m *Handler) Stats() Stats {
	st := Stats{
		Pending: m.begun.Load(), Working: m.places[Cheap].Used() + m.places[Heavy].Used(),
		Held: m.memory.Used() + m.arriving.Used(), HeldLimit: m.Bounds.Memory.Most + m.Bounds.arriving.Most,
		ConnLimit: m.Conns.Most,
	}
	for i := range m.refused {
		st.Refused[i] = m.refused[i].Load()
	}
	st.Shed = st.Refused[RejectedPlace] + st.Refused[RejectedMemory]
	return st
}

// HostsRefused returns how many requests were refused because their Host or Origin is foreign.
func (m *Handler) HostsRefused() uint64 { return m.refused[RejectedHost].Load() }

// Seconds returns how long the requests of each path took.
func (m *Handler) Seconds() map[string]histogram.Snapshot {
	all := make(map[string]histogram.Snapshot, len(m.endpoints))
	for path, h := range m.endpoints {
		all[path] = h.Snapshot()
	}
	return all
}

// Ended returns a channel that is closed when the server is about to stop.
func (m *Handler) Ended() <-chan struct{} { return m.ended }

// admit returns r with its user in the context. If the sender may not do what r asks, admit answers
// the request and returns nil.
func (m *Handler) admit(w http.ResponseWriter, r *http.Request, client string) *http.Request {
	in, err := m.Authorizer.check(r, client)
	if err == nil {
		return in
	}
	var e *RejectedError
	if !errors.As(err, &e) {
		e = &RejectedError{Why: RejectedUser, Text: err.Error()}
	}
	if e.Why == RejectedUser {
		for _, c := range m.Authorizer.Challenges() {
			w.Header().Add("WWW-Authenticate", c)
		}
	}
	m.refuseWith(w, r, e.Why, e.Text)
	return nil
}

// refuseWith answers a refused request in the form of its protocol, and counts it.
func (m *Handler) refuseWith(w http.ResponseWriter, r *http.Request, why Rejection, text string) {
	m.refused[why].Add(1)
	t := rejectionTexts[why]
	RespondEarly(w, r, func(w http.ResponseWriter) {
		// JSON looks like RPC, but is also what senders of OTLP send.
		if e := connect.NewErrorWriter(); e.IsSupported(r) && !m.samples[r.URL.Path] {
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
func (m *Handler) refuse(w http.ResponseWriter, r *http.Request, why Rejection) {
	m.refuseWith(w, r, why, rejectionTexts[why].text)
}

// foreignPause is the least time between two log lines about requests by foreign names.
const foreignPause = time.Minute

// logForeign counts a request by a foreign name, and logs one now and then.
func (m *Handler) logForeign(r *http.Request, why string) {
	m.refused[RejectedHost].Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); now.Sub(m.logged) >= foreignPause {
		m.logged = now
		m.log.Warn("request refused", "from", r.RemoteAddr, "path", strings.ToValidUTF8(r.URL.Path, "?"), "why", why)
	}
}

func (m *Handler) classOf(r *http.Request) Class {
	switch path := r.URL.Path; {
	case path == "/metrics", path == rpc.HealthProcedure:
		return Watching
	case rpc.BeginsSession(r), flows()[path] != oneMessage:
		return Lasting
	case web.Draws(path), api.Queries(path), path == rondov1.RondoQueryProcedure, commands(path):
		return Heavy
	case m.samples[path]:
		return Samples
	}
	return Cheap
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
func (m *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	// A write deadline outlives its request, so each request sets its own. Setting a deadline does
	// not fail on the connections of this server.
	_ = c.SetReadDeadline(m.Send.deadline(time.Now(), 0))
	_ = c.SetWriteDeadline(m.Read.deadline(time.Now(), 0))
	conn := connOf(r.Context())
	defer discardRest(c, r, conn) // after everything else, when the request occupies nothing
	conn.begin()
	defer conn.end()
	if m.Authorizer.Headers != nil {
		m.Authorizer.Headers(w.Header())
	}
	switch r.URL.Path {
	case "/-/healthy":
		_, _ = io.WriteString(w, "rondo is healthy.\n") // the client may be gone
		return
	case "/-/ready":
		if s := m.state.Load(); s != nil {
			unavailable(w, "rondo is "+*s+".")
			return
		}
		_, _ = io.WriteString(w, "rondo is ready.\n")
		return
	}
	began := time.Now()
	defer func() { m.endpoints.of(r.URL.Path).Observe(time.Since(began)) }()
	if why := hostsOf(r, m.Hosts).refuse(r); why != "" {
		m.logForeign(r, why)
		RespondEarly(w, r, func(w http.ResponseWriter) {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			http.Error(w, why+".", http.StatusForbidden)
		})
		return
	}
	if m.inner.Load() == nil {
		RespondEarly(w, r, func(w http.ResponseWriter) { unavailable(w, "rondo is starting.") })
		return
	}
	client := sockets.ClientOf(r.RemoteAddr)
	if in := m.admit(w, r, client); in != nil {
		m.serve(c, w, in, client)
	}
}

// serve reads a request of a user who may send it, waits for its place and lets a handler answer.
func (m *Handler) serve(c *http.ResponseController, w http.ResponseWriter, r *http.Request, client string) {
	class, h := m.classOf(r), *m.inner.Load()
	memory := m.memory
	if class == Samples || r.URL.Path == rondov1.RondoWriteProcedure {
		memory = m.arriving
	}
	held := memory.Open(client)
	defer held.Close()
	if class == Watching {
		h = *m.scraped.Load()
	} else {
		m.begun.Add(1)
		defer m.begun.Add(-1)
		if held.Charge(requestBytes) != nil {
			m.refuse(w, r, RejectedMemory)
			return
		}
	}
	in, err := m.readRequest(c, r, held)
	if err != nil {
		m.refuseBody(w, r, err)
		return
	}
	leave, ok := m.enter(r, class, client)
	if !ok {
		m.refuse(w, r, RejectedPlace)
		return
	}
	defer leave()
	in = in.WithContext(limit.With(r.Context(), held))
	switch {
	case class != Lasting:
		m.pass(c, w, in, h, leave)
	case rpc.BeginsSession(r):
		h.ServeHTTP(w, in) // which takes the connection over
	default:
		m.stream(c, w, in, h)
	}
}

// readRequest returns r with its whole body in memory, so that a client that sends slowly takes no
// place. It leaves the body of a client that streams to the handler.
func (m *Handler) readRequest(c *http.ResponseController, r *http.Request, held *limit.Account) (*http.Request, error) {
	if flows()[r.URL.Path] == bothWays || rpc.BeginsSession(r) {
		return r, nil
	}
	most := int64(bodyBytes)
	if commands(r.URL.Path) {
		most = rpc.MaxCommandBytes
	}
	body, err := readBody(c, r, most, m.Send, held)
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
func (m *Handler) enter(r *http.Request, of Class, client string) (leave func(), ok bool) {
	if of != Samples && !m.places[of].Wait(r.Context(), client, 1, m.Patience) {
		return nil, false
	}
	conn := connOf(r.Context())
	conn.admit()
	return sync.OnceFunc(func() {
		if of != Samples {
			m.places[of].Give(client, 1)
		}
		conn.leave()
	}), true
}

// pass lets h answer, and calls leave when it begins to. The connection has no deadlines while h
// works, because a deadline that passed would cancel the request although its client is waiting.
func (m *Handler) pass(c *http.ResponseController, w http.ResponseWriter, r *http.Request, h http.Handler, leave func()) {
	work := m.Work
	if commands(r.URL.Path) { // which work on while they print
		work, leave = commandTime, func() {}
	}
	ctx, cancel := context.WithTimeout(r.Context(), work)
	defer cancel()
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Time{})
	a := &pacedWriter{ResponseWriter: w, control: c, pace: m.Read, begun: leave}
	h.ServeHTTP(a, r.WithContext(ctx))
	a.end()
}

// refuseBody answers a request whose body was not read.
func (m *Handler) refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errBodyLong):
		m.refuse(w, r, RejectedLong)
	case errors.Is(err, errBodySlow):
		m.refuse(w, r, RejectedSlow)
	case errors.Is(err, limit.ErrMemory):
		m.refuse(w, r, RejectedMemory)
	default:
		RespondEarly(w, r, func(w http.ResponseWriter) {
			http.Error(w, "the request did not arrive: "+err.Error(), http.StatusBadRequest)
		})
	}
}

// endpoints say how long requests took, by path. They do not change after the first request.
type endpoints map[string]*histogram.Histogram

// otherEndpoint is the name under which requests for unknown paths are counted.
const otherEndpoint = "other"

func newEndpoints() endpoints {
	e := make(endpoints)
	e.add(slices.Concat(rpc.Procedures(), api.Routes(), []string{"/", "/metrics", web.GraphPath, otherEndpoint}))
	return e
}

// add counts requests for further paths apart.
func (e endpoints) add(paths []string) {
	for _, path := range paths {
		e[path] = new(histogram.Histogram)
	}
}

// of returns the times of requests for a path.
func (e endpoints) of(path string) *histogram.Histogram {
	if web.Draws(path) {
		path = web.GraphPath
	}
	if h := e[api.Endpoint(path)]; h != nil {
		return h
	}
	return e[otherEndpoint]
}
