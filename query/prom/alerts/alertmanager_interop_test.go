package alerts

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestAlertmanager: a real Alertmanager has the alert that fires, and no more when it is resolved.
func TestAlertmanager(t *testing.T) {
	base := alertmanager(t)
	m, w := manager(t, loadRules, func(c *Config) { c.Alertmanagers = []string{base} })
	w.set("m > 5", map[string]float64{"a": 6})
	at := time.Now().Add(-10 * time.Minute)
	for range 4 {
		m.evaluate(t.Context(), m.groups[0], at)
		at = at.Add(time.Minute)
	}
	m.senders[0].queue = m.senders[0].queue[len(m.senders[0].queue)-1:] // the others have ended already
	m.senders[0].queue[0].ends = time.Now().Add(time.Hour)
	sent(t, m, w, func() bool { return m.Counts().Sent == 1 })
	active := func() (out []struct{ Labels, Annotations map[string]string }) {
		r, err := http.Get(base + "/api/v2/alerts")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }() // read only
		if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := active()
	if len(got) != 1 || got[0].Labels["alertname"] != "High" || got[0].Labels["team"] != "a" || got[0].Annotations["summary"] != "a has 6" {
		t.Fatalf("it has %v", got)
	}
	w.mu.Lock()
	w.answers["m > 5"] = promql.Vector{}
	w.mu.Unlock()
	for range 2 {
		m.evaluate(t.Context(), m.groups[0], at)
		at = at.Add(time.Minute)
	}
	sent(t, m, w, func() bool { return m.Counts().Sent >= 2 })
	for deadline := time.Now().Add(2 * time.Minute); len(active()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it still has %v", active())
		}
	}
}

// alertmanager starts an Alertmanager, which ends with the test, and returns its address.
func alertmanager(t *testing.T) string {
	t.Helper()
	program := rrdtooltest.Peer(t, "prometheus-alertmanager")
	dir := t.TempDir()
	conf := filepath.Join(dir, "am.yml")
	if err := os.WriteFile(conf, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil { // it has no way to choose a port
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+conf, "--storage.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--cluster.listen-address=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed
	})
	base := "http://" + addr
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if r, err := http.Get(base + "/-/ready"); err == nil {
			if r.Body.Close() == nil && r.StatusCode == http.StatusOK {
				return base
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the Alertmanager is not ready")
		}
	}
}
