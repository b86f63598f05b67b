package middleware

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestClasses: requests that wait for different things take places of their own.
func TestClasses(t *testing.T) {
	g := quietMiddleware(DefaultBounds(0))
	g.Receive([]string{"/api/v1/write"})
	for path, want := range map[string]Class{
		"/": Cheap, "/assets/x.js": Cheap, "/rondo.v1.Rondo/List": Cheap, "/rondo.v1.Rondo/Write": Cheap, "/api/v1/status/buildinfo": Cheap,
		"/graph.png": Heavy, "/rrd_updates": Heavy, "/api/v1/query": Heavy, "/rondo.v1.Rondo/Query": Heavy, rondov1.RondoExecProcedure: Heavy,
		"/rondo.v1.Rondo/Tail": Lasting, "/rondo.v1.Rondo/ImportMany": Lasting, rpc.PipePath: Lasting,
		"/metrics": Watching, rpc.HealthProcedure: Watching, "/api/v1/write": Samples,
	} {
		r := httptest.NewRequest(http.MethodPost, path, http.NoBody)
		r.Header.Set("Upgrade", "rondo-pipe")
		if got := g.classOf(r); got != want {
			t.Errorf("%s: class %d, want %d", path, got, want)
		}
	}
}

// TestRequestsHoldMemory: each request that has begun holds memory of its client's share, whatever
// it waits for. Those that watch the server hold none, and those that bring samples have a memory
// of their own.
func TestRequestsHoldMemory(t *testing.T) {
	b := DefaultBounds(0)
	b.Memory = Share{8 * requestBytes, 4 * requestBytes}
	g := quietMiddleware(b)
	g.Receive([]string{"/api/v1/write"})
	block, entered := make(chan struct{}), make(chan struct{}, 8)
	work := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-block
	})
	g.Open(work, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(from, path string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.RemoteAddr = from + ":1"
		g.ServeHTTP(w, r)
		return w
	}
	var under sync.WaitGroup
	for i := range 8 {
		under.Go(func() { ask([]string{"192.0.2.1", "192.0.2.2"}[i%2], []string{"/", "/graph.svg"}[i/4]) })
	}
	for range 8 {
		<-entered
	}
	for from, path := range map[string]string{"192.0.2.1": "/", "192.0.2.3": "/rondo.v1.Rondo/Tail"} {
		if w := ask(from, path); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "too much memory") {
			t.Errorf("%s from %s: %d %s", path, from, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/api/v1/write", "/rondo.v1.Rondo/Write"} {
		blocked := make(chan int)
		go func() { blocked <- ask("192.0.2.1", path).Code }()
		select {
		case <-entered:
			under.Go(func() { <-blocked })
		case code := <-blocked:
			t.Errorf("%s waits behind answers: %d", path, code)
		}
	}
	if w := ask("192.0.2.1", "/metrics"); w.Code != http.StatusOK {
		t.Errorf("/metrics: %d %s", w.Code, w.Body)
	}
	close(block)
	under.Wait()
	if g.memory.Used() != 0 || g.arriving.Used() != 0 || g.Stats().Pending != 0 || g.Stats().Working != 0 {
		t.Errorf("at the end %d bytes are held, %d requests have begun, %d work", g.memory.Used(), g.Stats().Pending, g.Stats().Working)
	}
}
