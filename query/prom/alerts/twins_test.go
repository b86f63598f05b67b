package alerts

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const twinRules = `groups: [{name: g, rules: [
  {alert: Down, expr: 'm > 5', for: 2m},
  {record: Down, expr: 'm'},
  {alert: Down, expr: 'n > 5', for: 2m},
  {alert: Down, expr: 'o > 5', for: 2m}]}]`

// TestTwinsKeepTheirAlerts: a group may have several rules of one name. Over a restart and a change
// of node the last one got the alerts of all, and resolved the others' at once.
func TestTwinsKeepTheirAlerts(t *testing.T) {
	state := filepath.Join(t.TempDir(), "alerts.json")
	m, w := manager(t, twinRules, func(c *Config) { c.StateFile = state; c.Webhooks = []string{"http://127.0.0.1:1/"} })
	at := time.Now().Add(-5 * time.Minute)
	w.set("m > 5", map[string]float64{"a": 6})
	w.set("n > 5", map[string]float64{"b": 6, "c": 6})
	w.set("o > 5", map[string]float64{"d": 6})
	for range 4 {
		m.evaluate(t.Context(), m.groups[0], at)
		at = at.Add(time.Minute)
	}
	want := []string{"a firing", "b firing", "c firing", "d firing"}
	if got := states(t, m); !slices.Equal(got, want) {
		t.Fatalf("before: %q", got)
	}
	m.senders[0].queue = nil // it was sent
	m.save()
	check := func(name string, again *Manager) {
		t.Helper()
		again.evaluate(t.Context(), again.groups[0], at)
		if got := states(t, again); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for _, s := range again.senders {
			for _, q := range s.queue {
				t.Errorf("%s: sent: resolved=%v news=%v %s", name, q.resolved, q.news, q.labels)
			}
		}
	}
	again, err := New(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	check("a restart", again)

	text, err := stateText(m.groups, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	none := m.Config
	none.StateFile = ""
	other, err := New(none)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.groups[0].replaceAlerts(text, time.Now()); err != nil {
		t.Fatal(err)
	}
	check("another node", other)

	if err := again.Reload(again.Files); err != nil {
		t.Fatal(err)
	}
	check("a reload", again)
}
