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
	if err := dashboards.In(db).Save(t.Context(), "web", text); err != nil {
		t.Fatal(err)
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
