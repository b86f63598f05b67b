package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/web"
)

// hostile is a name that would be markup, and an address of its own, if it were not escaped.
const hostile = `<script>alert(1)</script>"'&<img src=x onerror=alert(1)>?a=b#c%41 +`

// newPlain returns a server with series of plain and of hostile names.
func newPlain(t testing.TB) (*web.Server, string) {
	t.Helper()
	s, store, _, _ := newGraphs(t)
	c := s.Config
	db := t.TempDir()
	pages := dashboards.In(db)
	c.Pages = pages
	c.RPC = &rpc.Server{Store: store, Now: c.Now, Pages: pages}
	path := "h/" + strings.ReplaceAll(hostile, "/", "_")
	fill(t, store, create(t, store, path), begin, begin+3600)
	meta := core.Metadata{Text: hostile, Attributes: []core.Label{{Name: "unit", Value: hostile}}}
	if _, err := store.SetMetadata(t.Context(), []core.PathMetadata{{Path: path, Metadata: meta}}); err != nil {
		t.Fatal(err)
	}
	if err := pages.Save(t.Context(), "bad", "title: "+hostile+"\ngraph: "+hostile+"\nHRULE:5#ff0000:"+hostile); err != nil {
		t.Fatal(err)
	}
	return web.New(c), path
}

func segments(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

var (
	links  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	entity = strings.NewReplacer("&amp;", "&", "&#43;", "+", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">")
)

// TestPlainPagesEscape: whatever a series is called, its pages have no markup of its own, and their
// links lead to pages and graphs.
func TestPlainPagesEscape(t *testing.T) {
	s, path := newPlain(t)
	pages := []string{
		"/", "/?q=" + url.QueryEscape("script"), "/?q=" + url.QueryEscape(hostile), "/host/h", "/host/h?row=all", "/series/" + segments(path), "/dashboards",
		"/dashboard/bad", "/workbench?g=" + url.QueryEscape("HRULE:5#f00:"+hostile), "/workbench?g=%ff", "/status", "/series/" + segments(hostile),
		"/host/h?from=" + url.QueryEscape(hostile), "/?page=%ff", "/host/%ff", "/series/%ff", "/dashboard/%ff",
	}
	followed := map[string]bool{}
	for _, at := range pages {
		r, body := ask(t, s, "GET", at)
		if r.StatusCode >= 500 {
			t.Errorf("%s: %s", at, r.Status)
		}
		if all, files := runs(body); all < 1 || files != all || strings.Contains(body, "<img src=x") || strings.Contains(body, "style=") {
			t.Errorf("%s: a name is markup in\n%s", at, body)
		}
		for _, m := range links.FindAllStringSubmatch(body, -1) {
			to := entity.Replace(m[1])
			if followed[to] || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "/metrics") || strings.HasPrefix(to, "/-/") || to == "/rondo.proto" {
				continue
			}
			followed[to] = true
			if strings.Contains(to, "from="+url.QueryEscape(hostile)) {
				continue // the graph refuses that range
			}
			if r, body := ask(t, s, "GET", to); r.StatusCode != http.StatusOK {
				t.Errorf("%s links to %s: %s %.300s", at, to, r.Status, body)
			}
		}
	}
	if len(followed) < 30 {
		t.Errorf("only %d links were followed", len(followed))
	}
}

func TestPlainSeries(t *testing.T) {
	s, _ := newPlain(t)
	r, body := ask(t, s, "GET", "/series/net/eth0")
	if r.StatusCode != http.StatusOK {
		t.Fatal(r.Status)
	}
	for _, want := range []string{"<h1>net/eth0</h1>", "/graph.svg?", "<th>in</th><th>out</th>", "DS:in:GAUGE:60:U:U", "RRA:MAX:0.5:6:1000", "2008-01-10 22:20:00 UTC", "DEF:v0=net/eth0:in:AVERAGE"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if r, body := ask(t, s, "GET", "/series/nosuch"); r.StatusCode != http.StatusNotFound || !strings.Contains(body, "nosuch") {
		t.Errorf("%s\n%s", r.Status, body)
	}
	if r, _ := ask(t, s, "GET", "/dashboard/nosuch"); r.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown dashboard: %s", r.Status)
	}
}

// TestPlainValuesHaveUnits: a unit that nobody sent is taken from the charts of the folder.
func TestPlainValuesHaveUnits(t *testing.T) {
	s, store, _, _ := newGraphs(t)
	c := s.Config
	c.RPC = &rpc.Server{Store: store, Now: c.Now}
	fill(t, store, create(t, store, "h/room_celsius"), begin, begin+3600)
	if _, body := ask(t, web.New(c), "GET", "/series/h/room_celsius"); !strings.Contains(body, "\u202f°C</td>") {
		t.Errorf("no value has °C:\n%s", body)
	}
}
