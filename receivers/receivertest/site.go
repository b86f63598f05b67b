package receivertest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers"
)

// A site is the HTTP port that a receiver over HTTP stands behind in tests.
type site struct {
	listener net.Listener
	server   *httptest.Server
}

// newSite listens on loopback. Requests wait until serve is called.
func newSite(t testing.TB) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &site{listener: l}
}

// serve gives the requests for the routes of p to r, until the test ends.
func (s *site) serve(t testing.TB, p receivers.Protocol, r receivers.Receiver) {
	t.Helper()
	h, ok := r.(receivers.Handler)
	if !ok {
		t.Fatalf("the receiver %s is no Handler", p.Name)
	}
	mux := http.NewServeMux()
	for _, route := range p.Routes {
		if method, path, ok := strings.Cut(route, " "); !ok || method == "" || !strings.HasPrefix(path, "/") || strings.Contains(path, "{") {
			t.Fatalf("%q is no route: want a method and a path without wildcards", route)
		}
		mux.Handle(route, h)
	}
	s.server = httptest.NewUnstartedServer(mux)
	_ = s.server.Listener.Close() // it has not been used
	s.server.Listener = s.listener
	s.server.Start()
	t.Cleanup(s.server.Close)
}

// An Answer is what a receiver over HTTP answered.
type Answer struct {
	Status int
	Text   string // the body
	Header http.Header
}

// Ask sends a message to a receiver over HTTP and returns its answer.
func (r *Running) Ask(message []byte) Answer {
	r.t.Helper()
	return r.Do(r.c.Request(r.t, r.URL(), message))
}

// URL returns where a receiver over HTTP is, such as http://127.0.0.1:80.
func (r *Running) URL() string { return r.site.server.URL }

// Do sends a request to a receiver over HTTP and returns its answer.
func (r *Running) Do(q *http.Request) Answer {
	r.t.Helper()
	res, err := r.site.server.Client().Do(q)
	if err != nil {
		r.t.Errorf("%s %s: %v", q.Method, q.URL, err)
		return Answer{}
	}
	defer func() { _ = res.Body.Close() }() // it has been read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Errorf("%s %s: the answer: %v", q.Method, q.URL, err)
	}
	return Answer{res.StatusCode, strings.TrimSpace(string(text)), res.Header}
}
