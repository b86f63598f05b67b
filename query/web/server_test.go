package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/web"
)

// newServer returns a server of the pages of a new store.
func newServer(t testing.TB) (*web.Server, *core.Store) {
	t.Helper()
	store := enginetest.Open(t)
	return web.New(web.Config{
		Store: store, RPC: &rpc.Server{Store: store}, Version: "v<1>", DB: "/tmp/<db>", Started: time.Now(),
		Ways: func() []web.Way { return []web.Way{{Name: "<b>way", Addr: "127.0.0.1:1"}} },
	}), store
}

// ask asks a handler and returns the answer with its body.
func ask(t *testing.T, h http.Handler, method, target string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestEveryAnswerIsSecured(t *testing.T) {
	s, _ := newServer(t)
	h := http.Handler(s)
	for _, target := range []string{"/", "/status", "/nosuch", "/assets/main.js", "/assets/nosuch.js"} {
		r, _ := ask(t, h, "GET", target)
		policy := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: Content-Security-Policy %q", target, policy)
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", target, r.Header)
		}
	}
	if r, _ := ask(t, h, "POST", "/status"); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST: %s", r.Status)
	}
	if r, body := ask(t, h, "GET", "/nosuch"); r.StatusCode != http.StatusNotFound || !strings.Contains(body, "No such page") {
		t.Errorf("an unknown page: %s %s", r.Status, body)
	}
}

var (
	// scriptFiles finds the scripts that a page may have: files of the server.
	scriptFiles = regexp.MustCompile(`<script type="module" src="/assets/[0-9a-f]{12}/[a-z/-]+\.js"></script>`)
	// scriptData finds the data in a page, which a browser does not run.
	scriptData = regexp.MustCompile(`<script id="answers" type="application/json">([^<>]*)</script>`)
)

// runs returns how many scripts of a page a browser runs, and how many are files of the server.
func runs(body string) (all, files int) {
	return strings.Count(body, "<script") - len(scriptData.FindAllString(body, 1)), len(scriptFiles.FindAllString(body, -1))
}

func TestPagesRunNoInlineScript(t *testing.T) {
	s, _ := newServer(t)
	for _, target := range []string{"/", "/status", "/" + url.PathEscape(`<script>alert(1)</script>`)} {
		_, body := ask(t, s, "GET", target)
		if all, files := runs(body); all < 1 || files != all {
			t.Errorf("%s: %d scripts, of the server %d, in\n%s", target, all, files, body)
		}
		if strings.Contains(body, "style=") || strings.Contains(body, "<style") || strings.Contains(body, "<b>way") || strings.Contains(body, "<db>") {
			t.Errorf("%s: inline style, or a text unescaped, in\n%s", target, body)
		}
	}
}

func TestAssetsAreSentOnce(t *testing.T) {
	s, _ := newServer(t)
	h := http.Handler(s)
	first, body := ask(t, h, "GET", "/assets/main.js")
	if first.StatusCode != 200 || body == "" || first.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Fatalf("main.js: %s %v", first.Status, first.Header)
	}
	tag := first.Header.Get("ETag")
	if again, body := ask(t, h, "GET", "/assets/main.js", "If-None-Match", `"x", W/`+tag); again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("with its own ETag: %s %q", again.Status, body)
	}
	if other, _ := ask(t, h, "GET", "/assets/main.js", "If-None-Match", `"x"`); other.StatusCode != 200 {
		t.Errorf("with another ETag: %s", other.Status)
	}
	css, _ := ask(t, h, "GET", "/assets/style.css", "Accept-Encoding", "gzip")
	if css.Header.Get("Content-Encoding") != "gzip" || css.Header.Get("ETag") == "" {
		t.Errorf("packed: %v", css.Header)
	}
	for _, name := range []string{"/assets/", "/assets/../server.go", "/assets/pages", "/assets/nosuch.js"} {
		if r, _ := ask(t, h, "GET", name); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", name, r.Status)
		}
	}
}
