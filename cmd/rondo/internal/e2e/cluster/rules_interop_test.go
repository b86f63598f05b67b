package cluster

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// A hook is a webhook that counts alerts that fire.
type hook struct {
	*httptest.Server
	mu    sync.Mutex // guards fired
	fired map[string]int
}

func newHook(t *testing.T) *hook {
	h := &hook{fired: make(map[string]int)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Alerts []struct {
				Status string
				Labels map[string]string
			}
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender was killed
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, a := range m.Alerts {
			h.fired[a.Labels["alertname"]+" "+a.Status]++
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// wantOnce says whether nobody got an alert again when another node went on with its rule.
func (h *hook) wantOnce(t *testing.T, alert string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fired[alert+" firing"] != 1 || h.fired[alert+" resolved"] != 0 {
		t.Errorf("the webhook got %v", h.fired)
	}
}

// rulesOf writes the rules of a node: a group that all nodes have, and one of them evaluates, and on
// c one that no other node has.
func rulesOf(t *testing.T, dir, name string) (files string) {
	t.Helper()
	text := "groups:\n- name: all\n  interval: 1s\n  rules:\n  - {alert: Always, expr: vector(1), for: 3s}\n  - {record: one, expr: vector(1)}\n"
	if name == "c" {
		text += "- name: own\n  interval: 1s\n  rules:\n  - {alert: OfC, expr: vector(2)}\n"
	}
	rules := filepath.Join(dir, name+"-rules")
	if err := os.MkdirAll(rules, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rules, "x.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(rules, "*.yml")
}

// evaluates returns the node that evaluates the common group, once it fires there.
func evaluates(t *testing.T, nodes []*rondotest.Daemon) *rondotest.Daemon {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		for _, d := range nodes {
			want := "rondo_alerts_firing 1\n"
			if filepath.Base(d.DB) == "c" {
				want = "rondo_alerts_firing 2\n" // its own, too
			}
			if strings.Contains(metricsOf(t, d), want) {
				return d
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no node evaluates the rules")
		}
	}
}

// firesSince waits until a node shows that an alert fires, and returns since when it is true. Other
// nodes show the same.
func firesSince(t *testing.T, d *rondotest.Daemon, alert string, others ...*rondotest.Daemon) string {
	t.Helper()
	since := ""
	for _, d := range append([]*rondotest.Daemon{d}, others...) {
		shown := ""
		for deadline := time.Now().Add(time.Minute); shown == ""; time.Sleep(50 * time.Millisecond) {
			if shown = firing(t, d, alert); shown == "" && time.Now().After(deadline) {
				t.Fatalf("%s does not fire; log: %s", alert, d.Log.String())
			}
		}
		if since == "" {
			since = shown
		}
		if shown != since {
			t.Errorf("%s fires since %s, and on another node since %s", alert, since, shown)
		}
	}
	return since
}

// firing returns since when a node shows that an alert fires; empty: it does not.
func firing(t *testing.T, d *rondotest.Daemon, alert string) string {
	t.Helper()
	r, err := http.Get(d.URL + "/api/v1/alerts")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it is read
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels          map[string]string
				State, ActiveAt string
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	for _, a := range answer.Data.Alerts {
		if a.Labels["alertname"] == alert && a.State == "firing" {
			return a.ActiveAt
		}
	}
	return ""
}
