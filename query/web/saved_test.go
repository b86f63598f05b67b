package web_test

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/web"
)

// newSaved returns a server with the dashboard "web", which has a title that is hostile.
func newSaved(t *testing.T) *web.Server {
	t.Helper()
	s, _, _, _ := newGraphs(t)
	c := s.Config
	db := t.TempDir()
	c.Pages = dashboards.In(db)
	text := "title: <b>Web\ngraph: <i>Load\n DEF:a=net/eth0:in:AVERAGE\n LINE:a#ff0000:in\ngraph:\nHRULE:5#ff0000\n"
	cards := "variable: card\ngraph: Card $card\nDEF:a=net/$card:in:AVERAGE\nLINE:a#ff0000:in\ngraph: Asked\nPROMQL:q=up\nLINE:q\n"
	for name, text := range map[string]string{"web": text, "cards": cards} {
		if err := dashboards.In(db).Save(t.Context(), name, text); err != nil {
			t.Fatal(err)
		}
	}
	return web.New(c)
}

func TestGraphOfADashboard(t *testing.T) {
	s := newSaved(t)
	if r, body := ask(t, s, "GET", "/graph.svg?dashboard=web&from=-1h"); r.StatusCode != 200 || !strings.Contains(body, "&lt;i&gt;Load") {
		t.Errorf("the first: %s\n%s", r.Status, body)
	}
	if r, body := ask(t, s, "GET", "/graph.svg?dashboard=web&graph=2"); r.StatusCode != 200 || strings.Contains(body, "Load") {
		t.Errorf("the second: %s\n%s", r.Status, body)
	}
	for query, code := range map[string]int{
		"dashboard=nosuch": 404, "dashboard=web&graph=3": 404, "dashboard=web&graph=0": 404, "dashboard=web&graph=x": 400,
		"dashboard=web&arg=LINE:1": 400, "dashboard=../web": 400, "graph=1&arg=LINE:1": 400,
	} {
		if r, body := ask(t, s, "GET", "/graph.svg?"+query); r.StatusCode != code {
			t.Errorf("%s: %s %s", query, r.Status, body)
		}
	}
}

// TestDashboardWithAVariable: graphs take its value from the address.
func TestDashboardWithAVariable(t *testing.T) {
	s := newSaved(t)
	if r, body := ask(t, s, "GET", "/graph.svg?dashboard=cards&var-card=eth0&from=-1h"); r.StatusCode != 200 || !strings.Contains(body, "Card eth0") {
		t.Errorf("eth0: %s\n%s", r.Status, body)
	}
	for query, want := range map[string]string{
		"dashboard=cards": "the variable card has no value", "dashboard=cards&var-card=nosuch": "no such series", "dashboard=cards&var-card=x:y": `no such series`,
		"dashboard=cards&var-card=a%00b": "control", "dashboard=cards&var-card=eth0&graph=2": "PromQL", "var-card=eth0&arg=LINE:1": "means nothing",
	} {
		if r, body := ask(t, s, "GET", "/graph.svg?"+query); r.StatusCode < 400 || !strings.Contains(body, want) {
			t.Errorf("%s: %s %s", query, r.Status, body)
		}
	}
}
