package middleware

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

// patience is how long a test waits for what must happen.
const patience = time.Minute

// quietMiddleware is middleware that answers to every name.
func quietMiddleware(b Bounds) *Handler {
	return New(b, NewHosts(nil, []string{anyHost}, nil), slog.New(slog.DiscardHandler))
}

func TestMiddlewareReportsHealth(t *testing.T) {
	g := quietMiddleware(DefaultBounds(0))
	s := httptest.NewServer(g)
	defer s.Close()
	check := func(when, path string, want int) {
		t.Helper()
		if got, body := get(t, s.URL+path); got != want {
			t.Errorf("%s: GET %s answers %d %q, want %d", when, path, got, body, want)
		}
	}
	answers := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	check("starting", "/-/healthy", 200)
	check("starting", "/-/ready", 503)
	check("starting", "/metrics", 503)
	g.Open(answers(201), answers(204))
	check("open", "/-/healthy", 200)
	check("open", "/-/ready", 200)
	check("open", "/metrics", 204)
	check("open", "/", 201)
	g.Stopping()
	check("stopping", "/-/healthy", 200)
	check("stopping", "/-/ready", 503)
	check("stopping", "/metrics", 204)
}

// TestMiddlewareShedsRequests: while all places are taken, others are refused, and health and
// metrics are answered.
func TestMiddlewareShedsRequests(t *testing.T) {
	b := DefaultBounds(0)
	const places = 4
	b.Places[Cheap] = Share{places, places}
	b.Patience = time.Millisecond
	g := quietMiddleware(b)
	block, entered := make(chan struct{}), make(chan struct{}, places)
	g.Open(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-block
	}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s := httptest.NewServer(g)
	defer s.Close()
	done := make(chan int, places)
	for range places {
		go func() {
			r, err := http.Get(s.URL + "/")
			if err != nil {
				done <- 0
				return
			}
			_ = r.Body.Close()
			done <- r.StatusCode
		}()
	}
	for range places {
		<-entered
	}
	if code, _ := get(t, s.URL+"/"); code != http.StatusServiceUnavailable {
		t.Errorf("a request beyond the limit was answered %d", code)
	}
	if code, body := post(t, s.URL+"/rondo.v1.Rondo/List", "{}"); code != 503 || !strings.Contains(body, `"unavailable"`) {
		t.Errorf("a call beyond the limit was answered %d %s", code, body)
	}
	if got := g.Stats().Shed; got != 2 {
		t.Errorf("%d requests counted as shed, want 2", got)
	}
	for _, path := range []string{"/-/healthy", "/metrics"} {
		if got, _ := get(t, s.URL+path); got != 200 {
			t.Errorf("%s under load: %d", path, got)
		}
	}
	close(block)
	for range places {
		if code := <-done; code != 200 {
			t.Errorf("a request within the limit was answered %d", code)
		}
	}
}

// TestGraphsTakeNoOtherPlaces: while as many graphs wait as may, calls are served and another graph
// is refused.
func TestGraphsTakeNoOtherPlaces(t *testing.T) {
	b := DefaultBounds(0)
	const graphs = 3
	b.Places[Cheap], b.Places[Heavy] = Share{1, 1}, Share{graphs, graphs}
	b.Patience = time.Millisecond
	g := quietMiddleware(b)
	block, entered := make(chan struct{}), make(chan struct{}, graphs)
	g.Open(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/graph.svg" || r.URL.Path == "/rrd_updates" {
			entered <- struct{}{}
			<-block
		}
	}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s := httptest.NewServer(g)
	defer s.Close()
	done := make(chan error, graphs)
	for range graphs {
		go func() {
			r, err := http.Get(s.URL + "/graph.svg")
			if err == nil {
				err = r.Body.Close()
			}
			done <- err
		}()
	}
	for range graphs {
		<-entered
	}
	if code, body := post(t, s.URL+"/rondo.v1.Rondo/List", "{}"); code != 200 {
		t.Errorf("a call is answered %d %s", code, body)
	}
	for _, path := range []string{"/graph.svg", "/rrd_updates"} {
		if code, _ := get(t, s.URL+path); code != http.StatusServiceUnavailable {
			t.Errorf("%s beyond the limit is answered %d", path, code)
		}
	}
	close(block)
	for range graphs {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestClientThatHasGoneIsNotWorkedFor: what a client asked for went on after it had gone.
func TestClientThatHasGoneIsNotWorkedFor(t *testing.T) {
	g := quietMiddleware(DefaultBounds(0))
	entered, ended := make(chan struct{}), make(chan error, 1)
	g.Open(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		ended <- r.Context().Err()
	}), nil)
	s := httptest.NewServer(g)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/x", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-entered
		cancel()
	}()
	if _, err := http.DefaultClient.Do(r); err == nil {
		t.Error("an answer came")
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the request ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the request goes on")
	}
}

// TestLongWorkIsNotCutByDeadlines: the deadline of a request's body went on when the body was
// there, and cancelled what took longer.
func TestLongWorkIsNotCutByDeadlines(t *testing.T) {
	b := DefaultBounds(0)
	b.Send.Grace, b.Read.Grace = 300*time.Millisecond, 300*time.Millisecond // a busy machine takes some
	g := quietMiddleware(b)
	work := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			http.Error(w, "cancelled", http.StatusInternalServerError)
		case <-time.After(2 * b.Send.Grace):
			_, _ = io.WriteString(w, "done")
		}
	})
	g.Open(work, work)
	s := httptest.NewUnstartedServer(g)
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	s.Config.Protocols = &both
	s.Start()
	defer s.Close()
	for _, h2 := range []bool{false, true} {
		var p http.Protocols
		p.SetHTTP1(!h2)
		p.SetUnencryptedHTTP2(h2)
		tr := &http.Transport{Protocols: &p}
		defer tr.CloseIdleConnections()
		c := &http.Client{Transport: tr}
		for _, ask := range []func() (*http.Response, error){
			func() (*http.Response, error) { return c.Get(s.URL + "/") },
			func() (*http.Response, error) { return c.Get(s.URL + "/metrics") },
			func() (*http.Response, error) { return c.Post(s.URL+"/", "text/plain", strings.NewReader("body")) },
		} {
			a, err := ask()
			if err != nil {
				t.Errorf("HTTP/2 %v: %v", h2, err)
				continue
			}
			text, err := io.ReadAll(a.Body)
			_ = a.Body.Close()
			if err != nil || string(text) != "done" {
				t.Errorf("HTTP/2 %v, %s %s: %s %q, %v", h2, a.Request.Method, a.Request.URL.Path, a.Status, text, err)
			}
		}
	}
}
