package servertest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/receivers"
)

// posted is a protocol over the HTTP port that answers with the body of the request.
var posted = receivers.Protocol{
	Name: "posted", Network: receivers.HTTP, Address: receivers.On, Routes: []string{"POST /posted", "GET /posted/ping"},
	New: func(c receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
		p := new(postedReceiver)
		p.Requests = receivers.NewRequests(sink, &p.Counters, c)
		return p, nil
	},
}

type postedReceiver struct {
	receivers.Counters
	*receivers.Requests
}

func (p *postedReceiver) Stats() receivers.Stats { return p.Counters.Stats() }

func (p *postedReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Handle(w, r, func(_ context.Context, body []byte) { _, _ = fmt.Fprintf(w, "%s %s", r.Method, body) })
}

func postedWays(addr string) server.Ways {
	return server.Ways{Receivers: []server.Receiver{{Protocol: posted, Address: server.Address{Addr: addr}}}}
}

// request sends a request and returns status and text of the answer.
func request(t *testing.T, method, url, body string, header ...string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = res.Body.Close() }() // it has been read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d %s", res.StatusCode, strings.TrimSpace(string(text)))
}

// TestRoutes: requests for the routes of a receiver reach it through the middleware, which checks
// Host and Origin, and the requests are counted by path.
func TestRoutes(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts, Ways: postedWays(receivers.On)})
	for _, tt := range []struct {
		method, path, body, want string
		header                   []string
	}{
		{"POST", "/posted", "hello", "200 POST hello", nil},
		{"GET", "/posted/ping", "", "200 GET", nil},
		{"GET", "/posted", "", "405 Method Not Allowed", nil},
		{"POST", "/posted/ping", "", "405 Method Not Allowed", nil},
		{"POST", "/posted", "x", "403 Origin", []string{"Origin", "http://elsewhere.example"}},
	} {
		if got := request(t, tt.method, r.url(tt.path), tt.body, tt.header...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %s of %d bytes: %.200s, want %s", tt.method, tt.path, len(tt.body), got, tt.want)
		}
	}
	if got := r.Receivers["posted"]; got == nil || got.String() != r.HTTP.String() {
		t.Errorf("the receiver is at %v, want %v", got, r.HTTP)
	}
	page := request(t, "GET", r.url("/metrics"), "")
	for _, want := range []string{
		`rondo_http_request_seconds_count{path="/posted"} 3`,
		`rondo_http_request_seconds_count{path="/posted/ping"} 2`,
		`rondo_receiver_packets_total{receiver="posted"} 2`,
		`rondo_receiver_bytes_total{receiver="posted"} 5`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if got := request(t, "GET", r.url("/"), ""); !strings.HasPrefix(got, "200") {
		t.Errorf("the page of the ways in: %.200s", got)
	}
}

// TestRoutesReload: a receiver over HTTP is turned off and on while the server runs.
func TestRoutesReload(t *testing.T) {
	reload := make(chan server.Ways)
	r := start(t, server.Config{HTTP: anyPorts, Ways: postedWays(""), Reload: reload})
	const off = "404 this server does not receive posted: it needs --posted on"
	for i, tt := range []struct{ addr, want string }{{"", off}, {receivers.On, "200 POST x"}, {"", off}} {
		if i > 0 {
			reload <- postedWays(tt.addr)
			reload <- postedWays(tt.addr) // the server takes it when it has done the first
		}
		if got := request(t, "POST", r.url("/posted"), "x"); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.addr, got, tt.want)
		}
	}
}

// TestRoutesWithoutPort: a server without the HTTP port has no receivers over it, and says so if
// one was asked for.
func TestRoutesWithoutPort(t *testing.T) {
	w := postedWays(receivers.On)
	w.Receivers[0].Address.Named = true
	r := start(t, server.Config{Ways: w})
	if len(r.Receivers) != 0 || !strings.Contains(r.log.String(), "the HTTP port is off") {
		t.Errorf("receivers %v\n%s", r.Receivers, r.log)
	}
}

// TestSamplesTakeNoOtherPlaces: while as many requests bring samples as one client may have, which
// wait for the disk, calls are served, and another one of them is asked to try again.
func TestSamplesTakeNoOtherPlaces(t *testing.T) {
	const most, mine = 4, 3
	b := middleware.DefaultBounds(0)
	for c := range b.Places {
		b.Places[c] = middleware.Share{Most: 1, Client: 1}
	}
	b.Patience = time.Millisecond
	g := middleware.New(b, middleware.NewHosts(nil, []string{"*"}, nil), slog.New(slog.DiscardHandler))
	g.Receive([]string{"/posted"})
	var counters receivers.Counters
	posts := receivers.NewRequests(nil, &counters, receivers.Config{InFlight: most, Patience: time.Millisecond})
	block, entered := make(chan struct{}), make(chan struct{}, most)
	g.Open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/posted" {
			posts.Handle(w, r, func(context.Context, []byte) {
				entered <- struct{}{}
				<-block
			})
		}
	}), nil)
	s := httptest.NewServer(g)
	defer s.Close()
	done := make(chan string, mine)
	for range mine {
		go func() { done <- request(t, "POST", s.URL+"/posted", "x") }()
	}
	for range mine {
		<-entered
	}
	if got := request(t, "POST", s.URL+"/posted", "x"); !strings.HasPrefix(got, "503") {
		t.Errorf("a request beyond the limit: %s", got)
	}
	if got := request(t, "GET", s.URL+"/", ""); !strings.HasPrefix(got, "200") {
		t.Errorf("another request: %s", got)
	}
	close(block)
	for range mine {
		if got := <-done; !strings.HasPrefix(got, "200") {
			t.Errorf("a request within the limit: %s", got)
		}
	}
}
