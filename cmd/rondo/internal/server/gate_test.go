package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

func TestGateTellsHealth(t *testing.T) {
	g := newGate()
	s := httptest.NewServer(g)
	defer s.Close()
	check := func(when, path string, want int) {
		t.Helper()
		if got, body := get(t, s.URL+path); got != want {
			t.Errorf("%s: GET %s answers %d %q, want %d", when, path, got, body, want)
		}
	}
	check("starting", "/-/healthy", 200)
	check("starting", "/-/ready", 503)
	check("starting", "/metrics", 503)
	g.open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	check("open", "/-/healthy", 200)
	check("open", "/-/ready", 200)
	check("open", "/metrics", 204)
	g.stopping()
	check("stopping", "/-/healthy", 200)
	check("stopping", "/-/ready", 503)
	check("stopping", "/metrics", 204)
}

func TestGateShedsRequests(t *testing.T) {
	g := newGate()
	block, entered := make(chan struct{}), make(chan struct{}, maxRequests)
	g.open(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-block
	}))
	s := httptest.NewServer(g)
	defer s.Close()
	done := make(chan int, maxRequests)
	for range maxRequests {
		go func() {
			r, err := http.Get(s.URL + "/metrics")
			if err != nil {
				done <- 0
				return
			}
			_ = r.Body.Close()
			done <- r.StatusCode
		}()
	}
	for range maxRequests {
		<-entered
	}
	// All places are taken: a client that goes away gives up its turn, and is counted.
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r.WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a request beyond the limit was answered %d %v", w.Code, w.Header())
	}
	if got := g.shed.Load(); got != 1 {
		t.Errorf("%d requests counted as shed, want 1", got)
	}
	if got, _ := get(t, s.URL+"/-/healthy"); got != 200 {
		t.Errorf("health under load: %d", got)
	}
	close(block)
	for range maxRequests {
		if code := <-done; code != 200 {
			t.Errorf("a request within the limit was answered %d", code)
		}
	}
}
