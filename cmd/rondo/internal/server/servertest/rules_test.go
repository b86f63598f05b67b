package servertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/prom/alerts"
)

// TestRules: an alert fires, a webhook gets it, and a recording rule writes a series that queries
// find.
func TestRules(t *testing.T) {
	t.Parallel()
	told := make(chan string, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is missing fails the test below
		told <- string(body)
	}))
	t.Cleanup(hook.Close)
	file := filepath.Join(t.TempDir(), "rules.yml")
	rules := "groups: [{name: g, interval: 1s, rules: [{alert: Always, expr: vector(1)}, {record: 'a:b', expr: vector(7), labels: {x: 'y'}}]}]"
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, reload := t.TempDir(), make(chan server.Ways)
	r := start(t, server.Config{DB: dir, HTTP: anyPorts, Ways: fakeWays(nil), Reload: reload, Rules: alerts.Config{Files: []string{file}, Every: time.Minute, Webhooks: []string{hook.URL}}})
	if body := <-told; !strings.Contains(body, `"alertname":"Always"`) || !strings.Contains(body, `"status":"firing"`) {
		t.Errorf("the webhook gets %s", body)
	}
	eventually(t, "the series is written", func() bool {
		_, body := get(t, r.url("/api/v1/query?query=a:b"))
		return strings.Contains(body, `{"__name__":"a:b","x":"y"},"value":[`) && strings.Contains(body, `"7"]`)
	})
	if _, body := get(t, r.url("/api/v1/alerts")); !strings.Contains(body, `"alertname":"Always"`) {
		t.Errorf("%s", body)
	}
	if _, body := get(t, r.url("/api/v1/rules?type=alert")); !strings.Contains(body, `"state":"firing"`) || strings.Contains(body, "a:b") {
		t.Errorf("%s", body)
	}
	if n := metric(t, r, "rondo_alerts_firing"); n != 1 {
		t.Errorf("%v alerts fire", n)
	}

	// A mistake leaves the old rules in force, and is reported.
	if err := os.WriteFile(file, []byte("groups: [{name: g, rules: [{alert: A, expr: '1 +'}]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	reload <- fakeWays(nil)
	eventually(t, "the mistake is reported", func() bool { return metric(t, r, "rondo_config_last_reload_successful") == 0 })
	if n := metric(t, r, "rondo_rules"); n != 2 {
		t.Errorf("%v rules", n)
	}
	eventually(t, "the state is saved", func() bool {
		_, err := os.Stat(filepath.Join(dir, "alerts.json"))
		return err == nil
	})
}

// TestMistakeInRulesIsToldFirst: it was reported after the database had been opened, which may take
// long.
func TestMistakeInRulesIsToldFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	err := server.Run(t.Context(), server.Config{DB: dir, Ways: fakeWays(nil), Rules: alerts.Config{Files: []string{filepath.Join(t.TempDir(), "none.yml")}, Every: time.Minute}})
	if err == nil || !strings.Contains(err.Error(), "none.yml") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "rondo.bolt")); err == nil {
		t.Error("a database was made")
	}
}
