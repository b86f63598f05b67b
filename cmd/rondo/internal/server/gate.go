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

func unavailable(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, text, http.StatusServiceUnavailable)
}
