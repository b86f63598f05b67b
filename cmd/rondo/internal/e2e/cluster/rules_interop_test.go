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
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestClusterRules: of three nodes with the same rules over three real nats-servers one evaluates
// them. When it is killed another one goes on: the alert fires since the same time, and nobody gets
// it again. A group that only one node has is evaluated there.
func TestClusterRules(t *testing.T) {
	t.Parallel() // most of it is waiting
	nats := natstest.Three(t)
	var mu sync.Mutex
	told := make(map[string]int) // how often a webhook got that an alert fires
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Alerts []struct {
				Status string
				Labels map[string]string
			}
		}
		body, err := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		if err != nil {
			return // the sender was killed
		}
		mu.Lock()
		defer mu.Unlock()
		for _, a := range m.Alerts {
			told[a.Labels["alertname"]+" "+a.Status]++
		}
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	nodes := make(map[string]*rondotest.Daemon)
	for _, name := range []string{"a", "b", "c"} {
		rules := filepath.Join(dir, name+"-rules")
		text := "groups:\n- name: all\n  interval: 1s\n  rules:\n  - {alert: Always, expr: vector(1), for: 3s}\n  - {record: one, expr: vector(1)}\n"
		if name == "c" {
			text += "- name: own\n  interval: 1s\n  rules:\n  - {alert: OfC, expr: vector(2)}\n"
		}
		if err := os.Mkdir(rules, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(rules, "x.yml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nodes[name] = rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", nats.URLs(), "--cluster-monitor", strings.Join(nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M", "--rule-file", filepath.Join(rules, "*.yml"), "--alert-webhook", hook.URL)
	}
	// evaluates returns the node that evaluates the common group, once it fires there.
	evaluates := func() (found string) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); found == ""; time.Sleep(100 * time.Millisecond) {
			for name, d := range nodes {
				want := "rondo_alerts_firing 1\n"
				if name == "c" {
					want = "rondo_alerts_firing 2\n" // its own, too
				}
				if strings.Contains(metricsOf(t, d), want) {
					found = name
				}
			}
			if time.Now().After(deadline) {
				t.Fatal("no node evaluates the rules")
			}
		}
		return found
	}
	first := evaluates()
	since := firesSince(t, nodes[first], "Always")
	for name, d := range nodes {
		if shown := firesSince(t, d, "Always"); shown != since {
			t.Errorf("it fires since %s on %s, and since %s on %s", since, first, shown, name)
		}
	}
	firesSince(t, nodes["c"], "OfC")
	nodes[first].Kill(t)
	delete(nodes, first)
	second := evaluates()
	if now := firesSince(t, nodes[second], "Always"); now != since {
		t.Errorf("it fires since %s on %s, and since %s on %s", since, first, now, second)
	}
	mu.Lock()
	if told["Always firing"] != 1 || told["Always resolved"] != 0 {
		t.Errorf("the webhook was told %v", told)
	}
	mu.Unlock()
	for _, d := range nodes {
		d.Stop(t)
	}
}

// firesSince waits until a node shows that an alert fires, and returns since when it is true.
func firesSince(t *testing.T, d *rondotest.Daemon, alert string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r, err := http.Get(d.URL + "/api/v1/alerts")
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Data struct {
				Alerts []struct {
					Labels          map[string]string
					State, ActiveAt string
				}
			}
		}
		err = json.NewDecoder(r.Body).Decode(&answer)
		_ = r.Body.Close() // it was read
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answer.Data.Alerts {
			if a.Labels["alertname"] == alert && a.State == "firing" {
				return a.ActiveAt
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not fire: %+v; log: %s", alert, answer, d.Log.String())
		}
	}
}
