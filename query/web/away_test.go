package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/web"
)

// A page whose series are out of reach is asked for again later: it is no mistake of its address.
func TestSeriesOutOfReach(t *testing.T) {
	s, store := newServer(t)
	create(t, store, "net/eth0")
	s.Store = enginetest.Away(store, func() bool { return true })
	w, body := ask(t, s, http.MethodGet, web.UpdatesPath+"?start=1")
	if w.StatusCode != http.StatusServiceUnavailable || w.Header.Get("Retry-After") == "" || !strings.Contains(body, "try again") {
		t.Errorf("the answer is %d, %v: %s", w.StatusCode, w.Header, body)
	}
}
