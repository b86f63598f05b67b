package server

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// The limits of requests.
const (
	maxRequests    = 32 // under way; further ones wait for a place
	placeTimeout   = 5 * time.Second
	requestTimeout = time.Minute
	answerTimeout  = 2 * time.Minute
)

// A gate stands before the HTTP port: it answers for the health of the process while the store
// opens and closes, and bounds how many requests are under way.
type gate struct {
	state  atomic.Pointer[string]       // why the server is not ready; nil: it is
	inner  atomic.Pointer[http.Handler] // nil: not yet
	places chan struct{}                // a request takes a place and waits while there is none
	shed   atomic.Uint64                // requests that waited in vain
}

func newGate() *gate {
	g := &gate{places: make(chan struct{}, maxRequests)}
	g.setState("starting")
	return g
}

func (g *gate) setState(s string) { g.state.Store(&s) }

// open lets requests through to h.
func (g *gate) open(h http.Handler) {
	g.inner.Store(&h)
	g.state.Store(nil)
}

// stopping makes the server not ready, and goes on serving.
func (g *gate) stopping() { g.setState("stopping") }

// ServeHTTP answers for health itself and passes everything else on.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	// Every connection of this server takes deadlines; that of a write lasts beyond its request, so each sets its own.
	_ = c.SetReadDeadline(time.Now().Add(requestTimeout))
	_ = c.SetWriteDeadline(time.Now().Add(answerTimeout))
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
	h := g.inner.Load()
	if h == nil {
		unavailable(w, "rondo is starting.")
		return
	}
	if !g.enter(r) {
		g.shed.Add(1)
		unavailable(w, "rondo has too many requests under way.")
		return
	}
	defer func() { <-g.places }()
	(*h).ServeHTTP(w, r)
}

func (g *gate) enter(r *http.Request) bool {
	select {
	case g.places <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(placeTimeout)
	defer t.Stop()
	select {
	case g.places <- struct{}{}:
		return true
	case <-t.C:
	case <-r.Context().Done():
	}
	return false
}

func unavailable(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, text, http.StatusServiceUnavailable)
}
