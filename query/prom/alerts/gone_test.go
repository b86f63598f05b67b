package alerts

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// begun begins the groups of a manager, and ends them at once.
func begun(t *testing.T, m *Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.runGroups(ctx)
}

// queued returns what waits for the first receiver, as names of alerts and what is said of them.
func queued(m *Manager) (out []string) {
	for _, q := range m.senders[0].queue {
		what := " fires"
		if q.resolved {
			what = " is over"
		}
		out = append(out, q.labels.Get("alertname")+what)
	}
	return out
}

// TestAlertsOfARuleThatIsGone: a webhook hears that they are over, whether the files are read again
// or the process was started anew with other files.
func TestAlertsOfARuleThatIsGone(t *testing.T) {
	for _, way := range []string{"reload", "restart", "rename", "limit"} {
		t.Run(way, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "alerts.json")
			m, _ := fire(t, func(c *Config, url string) { c.Webhooks, c.StateFile = []string{url}, state })
			m.evaluate(t.Context(), m.groups[0], time.Now().Add(-time.Second))
			if got := queued(m); !slices.Equal(got, []string{"High fires"}) {
				t.Fatalf("%q", got)
			}
			m.senders[0].queue = nil // it was taken
			m.save()
			other := map[string]string{"rename": "groups: [{name: g, rules: [{alert: Low, expr: n}]}]"}[way]
			if err := os.WriteFile(m.Files[0], []byte(other), 0o600); err != nil {
				t.Fatal(err)
			}
			want := []string{"High is over"}
			switch way {
			case "restart":
				m = must(New(m.Config))
			case "limit":
				m.groups[0].limit = 1
				w := &world{answers: make(map[string]promql.Vector)}
				w.set("m", map[string]float64{"a": 1, "b": 1})
				m.Query = w.query
				m.evaluate(t.Context(), m.groups[0], time.Now())
			default:
				if err := m.Reload(m.Files); err != nil {
					t.Fatal(err)
				}
			}
			begun(t, m)
			if got := queued(m); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			begun(t, m)
			if got := queued(m); !slices.Equal(got, want) {
				t.Errorf("again: %q, want %q", got, want)
			}
		})
	}
}

// TestAlertsOfAGroupThatAnotherNodeHad: the node that takes a group over ends the alerts of rules
// that it lacks. A node that only shows them does not.
func TestAlertsOfAGroupThatAnotherNodeHad(t *testing.T) {
	shared := &bench{turn: "b", states: map[string][]byte{"a.rules.yml;g": []byte(strings.ReplaceAll(`{"version":1,"saved":"NOW","alerts":[
		{"rule":"Old","labels":{"alertname":"Old"},"annotations":{},"state":"firing","active_at":"NOW","fired_at":"NOW","sent_at":"NOW"}]}`,
		"NOW", time.Now().Add(-time.Minute).Format(time.RFC3339)))}}
	m, _ := fire(t, func(c *Config, url string) { c.Webhooks = []string{url} })
	var groups []string
	m.Share(seat{shared, "a", &groups})
	step(t, m, time.Now())
	if got := queued(m); len(got) > 0 {
		t.Errorf("a node that does not evaluate sends %q", got)
	}
	shared.turn = "a"
	step(t, m, time.Now())
	if got := queued(m); !slices.Equal(got, []string{"Old is over", "High fires"}) {
		t.Errorf("%q", got)
	}
}

// TestTakenNewsAreKept: a node that takes a group over does not send what a webhook has taken.
// It did so until the node before had evaluated the group again, a minute later as a rule.
func TestTakenNewsAreKept(t *testing.T) {
	shared := &bench{turn: "a", states: make(map[string][]byte)}
	m, target := fire(t, func(c *Config, url string) { c.Webhooks = []string{url} })
	var groups []string
	m.Share(seat{shared, "a", &groups})
	at := time.Now()
	step(t, m, at)
	sent(t, m, target, func() bool { return len(m.unsent()) == 0 })
	next, _ := fire(t, func(c *Config, url string) { c.Webhooks = []string{url} })
	next.Share(seat{shared, "b", &groups})
	shared.turn = "b"
	step(t, next, at.Add(2*time.Second))
	if got := queued(next); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
