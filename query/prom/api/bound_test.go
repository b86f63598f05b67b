package api_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/query/prom/api"
)

// TestCostlyExpressionsAreRefusedAtOnce: an expression of some kilobytes held the only place for
// minutes, and nothing could end it. It is refused without a place, wherever it comes in.
func TestCostlyExpressionsAreRefusedAtOnce(t *testing.T) {
	m := small(t)
	m.Gate, m.Inside = make(chan struct{}), make(chan struct{}, 2)
	h := api.New(api.Limited(api.Config{Storage: m}, 1e6, 1, time.Minute))
	var wg sync.WaitGroup
	wg.Go(func() { ask(t, h, "GET", "query", "query=up"+at, "") })
	<-m.Inside // the only place is taken
	sum, many := "1"+strings.Repeat("+1", 60_000), "{"+strings.Repeat(`a="b",`, 65)+"}"
	for _, c := range []struct{ method, path, form, says string }{
		{"POST", "query", "query=" + url.QueryEscape(sum), "120001 words, numbers and operators, at most 5000"},
		{"GET", "query", "query=" + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000), "200001 words"},
		{"POST", "query_range", "start=0&end=1&step=1&query=" + url.QueryEscape(sum), "120001 words"},
		{"POST", "format_query", "query=" + url.QueryEscape(sum), "120001 words"},
		{"POST", "format_query", "query=" + strings.Repeat("abs(", 1600) + "a" + strings.Repeat(")", 1600), "1601 parts in each other, at most 200"},
		{"POST", "parse_query", "query=" + url.QueryEscape(sum), "120001 words"},
		{"POST", "query", "query=" + url.QueryEscape(many), "65 matchers, at most 64"},
		{"POST", "series", "match[]=" + url.QueryEscape(many), "65 matchers"},
		{"GET", "labels", "match[]=" + url.QueryEscape(many), "65 matchers"},
		{"GET", "label/a/values", "match[]=" + url.QueryEscape(many), "65 matchers"},
		{"POST", "series", strings.Repeat("match[]="+url.QueryEscape(`{a=~"(.*a){900}(.*b){900}"}`)+"&", 50), "instructions, at most 100000"},
	} {
		query, body := c.form, ""
		if c.method == "POST" {
			query, body = "", c.form
		}
		if got := ask(t, h, c.method, c.path, query, body); got.Code != 400 || !strings.Contains(got.Body.String(), `"bad_data"`) || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s: %d %.200s, want %q", c.path, got.Code, got.Body, c.says)
		}
	}
	err := h.Evaluate(t.Context(), "a", api.Question{Expr: sum}, func(parser.Value, []string) error { return nil })
	if err == nil || api.KindOf(err) != api.BadData || !strings.Contains(err.Error(), "120001 words") {
		t.Errorf("Evaluate: %v", err)
	}
	if _, err := h.Instant(t.Context(), sum, time.Now()); err == nil || !strings.Contains(err.Error(), "120001 words") {
		t.Errorf("Instant: %v", err)
	}
	close(m.Gate)
	wg.Wait()
}

// TestRulesHaveTheirOwnPlaces: rules waited behind the queries of clients, and were late by as long
// as these took.
func TestRulesHaveTheirOwnPlaces(t *testing.T) {
	m := small(t)
	m.Gate, m.Inside = make(chan struct{}), make(chan struct{}, 3)
	h := api.New(api.Limited(api.Config{Storage: m}, 1e6, 1, time.Minute))
	var wg sync.WaitGroup
	for range 3 { // one runs, two wait
		wg.Go(func() { ask(t, h, "GET", "query", "query=up"+at, "") })
	}
	<-m.Inside
	if v, err := h.Instant(t.Context(), "vector(1)", time.Now()); err != nil || len(v) != 1 {
		t.Errorf("%v, %v", v, err)
	}
	close(m.Gate)
	wg.Wait()
}
