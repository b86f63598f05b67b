package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// TestPrometheusAPI: the HTTP port answers queries in PromQL from stored rows, and counts each
// route apart.
func TestPrometheusAPI(t *testing.T) {
	store := enginetest.Open(t)
	s := &server{Config: Config{DB: t.TempDir()}.withDefaults(), middleware: quietMiddleware(middleware.DefaultBounds(0)), store: store}
	s.receivers, s.backups = newManager(s), new(backups.Keeper)
	s.rpc = s.newRPC()
	s.pages, s.queries = s.newPages(), s.newQueries()
	s.middleware.Open(s.handlers())
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100"})
	if err != nil {
		t.Fatal(err)
	}
	const start = 1_700_000_000
	ref, err := store.Create(t.Context(), core.Spec{Path: "x/load", Labels: []core.Label{{Name: "__name__", Value: "load"}, {Name: "host", Value: "a"}}, Definition: d, Start: rra.Seconds(start)})
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	for i := range int64(10) {
		b.Add(ref, rra.Seconds(start+10*(i+1)), rra.Float(float64(i)))
	}
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		fmt.Sprintf("query?query=load&time=%d", start+100):                                                     `{"metric":{"__name__":"load","host":"a"},"value":[1700000100,"9"]}`,
		fmt.Sprintf("query_range?query=sum_over_time(load[20s])&start=%d&end=%d&step=10", start+90, start+100): `"values":[[1700000090,"15"],[1700000100,"17"]]`,
		"labels":                               `"data":["__name__","host"]`,
		"label/host/values":                    `"data":["a"]`,
		"series?match[]=load&start=1700000000": `[{"__name__":"load","host":"a"}]`,
	} {
		if code, body := asked(s.middleware, "GET", api.Prefix+target, ""); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", target, code, body, want)
		}
	}
	for _, path := range []string{"query", "label/:name/values"} {
		if times := s.middleware.Seconds()[api.Prefix+path]; times.Count() != 1 {
			t.Errorf("%d requests are counted for %s", times.Count(), path)
		}
	}
	if code, body := asked(s.middleware, "POST", api.Prefix+"read", ""); code != http.StatusBadRequest || !strings.Contains(body, "snappy") {
		t.Errorf("remote read: %d %s", code, body)
	}
	if code, _ := asked(s.middleware, "OPTIONS", api.Prefix+"query", ""); code != http.StatusNoContent {
		t.Errorf("OPTIONS: %d", code)
	}
	if n := s.queries.Stats().Answered; n != 5 {
		t.Errorf("%d requests are counted as answered, and were 5", n)
	}
}

// TestRoutesBetween: a client whose request comes while the receiver is replaced, or when it has
// ended, is asked to try again; an answer of 404 would make it drop its samples.
func TestRoutesBetween(t *testing.T) {
	p := receivers.Protocol{Name: "posted", Network: receivers.HTTP, Routes: []string{"POST /posted"}}
	ways := Ways{Receivers: []Receiver{{Protocol: p, Address: Address{Addr: receivers.On}}}}
	m := &manager{server: &server{Config: Config{}.withDefaults()}}
	m.want(ways)
	mux := new(middleware.Routes)
	m.mount(mux, ways)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/posted", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, q)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("the answer is %d, want 503 with Retry-After", w.Code)
	}
}

// quietMiddleware is middleware that answers to every name.
func quietMiddleware(b middleware.Bounds) *middleware.Handler {
	return middleware.New(b, middleware.NewHosts(nil, []string{"*"}, nil), slog.New(slog.DiscardHandler))
}
