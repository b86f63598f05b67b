package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/prom/api"
)

// TestTooManySamples: a query of more samples than it may hold ends with Prometheus' error.
func TestTooManySamples(t *testing.T) {
	h := api.New(api.Limited(api.Config{Storage: small(t)}, 100, 1, time.Minute))
	got := ask(t, h, "GET", "query", "query=up[10m]"+at, "")
	if want := "query processing would load too many samples into memory in query execution"; got.Code != 422 || !strings.Contains(got.Body.String(), want) {
		t.Errorf("%d %s, want 422 with %q", got.Code, got.Body, want)
	}
}

// TestStorageFails: an error of the storage is no empty answer.
func TestStorageFails(t *testing.T) {
	m := small(t)
	m.Fail = errDisk
	h := api.New(api.Config{Storage: m})
	for _, path := range []string{"query?query=up" + at, "series?match[]=up", "labels", "label/host/values", "query_range?query=up&start=0&end=1&step=1"} {
		name, query, _ := strings.Cut(path, "?")
		if got := ask(t, h, "GET", name, query, ""); got.Code != 422 || !strings.Contains(got.Body.String(), errDisk.Error()) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// TestQueriesWaitForTheirTurn: with one place a second query waits until the first is done, and one
// whose time is over meanwhile ends with a timeout.
func TestQueriesWaitForTheirTurn(t *testing.T) {
	m := small(t)
	m.Gate, m.Inside = make(chan struct{}), make(chan struct{}, 2)
	h := api.New(api.Limited(api.Config{Storage: m}, 1e6, 1, time.Minute))
	var wg sync.WaitGroup
	first := make(chan int, 1)
	wg.Go(func() { first <- ask(t, h, "GET", "query", "query=up"+at, "").Code })
	<-m.Inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest("GET", api.Prefix+"query?query=up", http.NoBody).WithContext(ctx)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 499 {
		t.Errorf("a request whose client has gone ran beside the first: %d %s", w.Code, w.Body)
	}
	late, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(late))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "query timed out in query queue") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := ask(t, h, "GET", "query_exemplars", "query=up", ""); got.Code != 200 {
		t.Errorf("a request that reads nothing waits too: %d", got.Code)
	}
	close(m.Gate)
	wg.Wait()
	if code := <-first; code != 200 {
		t.Errorf("the first query: %d", code)
	}
	if s := h.Stats(); s.Waiting != 0 || s.Failed != 2 {
		t.Errorf("afterwards: %+v", s)
	}
}

// TestTheEndOfAnAnswerWaitsForNobody: an answer was complete only when its request had got its place
// again, which others may hold for long.
func TestTheEndOfAnAnswerWaitsForNobody(t *testing.T) {
	m := small(t)
	h := api.New(api.Limited(api.Config{Storage: m}, 1e6, 1, time.Minute))
	m.Inside = make(chan struct{}, 8)
	slow := &slowReader{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}), go_: make(chan struct{})}
	first := make(chan struct{})
	go func() {
		defer close(first)
		h.ServeHTTP(slow, httptest.NewRequest("GET", api.Prefix+"query?query=1", http.NoBody))
	}()
	<-slow.writing
	m.Gate = make(chan struct{}) // what comes now keeps its place
	var wg sync.WaitGroup
	wg.Go(func() { ask(t, h, "GET", "query", "query=up"+at, "") })
	<-m.Inside
	close(slow.go_)
	<-first
	close(m.Gate)
	wg.Wait()
}

// slowReader is a client that reads nothing until it is let go.
type slowReader struct {
	*httptest.ResponseRecorder
	writing, go_ chan struct{}
	once         sync.Once
}

func (s *slowReader) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.writing); <-s.go_ })
	return s.ResponseRecorder.Write(b)
}

// TestSlowReaderHoldsNoPlace: while a client reads its answer slowly, other queries run.
func TestSlowReaderHoldsNoPlace(t *testing.T) {
	h := api.New(api.Limited(api.Config{Storage: small(t)}, 1e6, 1, time.Minute))
	slow := &slowReader{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}), go_: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		h.ServeHTTP(slow, httptest.NewRequest("GET", api.Prefix+"query_range?query=up&step=1&start=1700000000&end=1700000600", http.NoBody))
	})
	<-slow.writing
	if got := ask(t, h, "GET", "query", "query=up"+at, ""); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	close(slow.go_)
	wg.Wait()
	if slow.Code != 200 {
		t.Errorf("the slow client got %d", slow.Code)
	}
}
