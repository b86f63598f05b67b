package alerts

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/engine/core"
)

// A clock is one that may be set.
type clock struct{ by atomic.Int64 }

func (c *clock) now() time.Time        { return time.Now().Round(0).Add(time.Duration(c.by.Load())) }
func (c *clock) set(d time.Duration)   { c.by.Add(int64(d)) }
func (c *clock) years(n time.Duration) { c.set(n * 365 * 24 * time.Hour) }

// A notice is what a receiver got about an alert, and when.
type notice struct {
	to, name string
	resolved bool
	at       time.Time // by the clock that is never set
}

// receivers takes what is sent, without a network.
type receivers struct {
	mu    sync.Mutex
	clock *clock
	all   []notice
}

func (r *receivers) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []sentAlert
	to := "manager"
	if strings.Contains(req.URL.Path, "hook") {
		var message struct{ Alerts []sentAlert }
		to, err = "hook", json.Unmarshal(body, &message)
		list = message.Alerts
	} else {
		err = json.Unmarshal(body, &list)
	}
	for _, a := range list {
		resolved := a.Status == "resolved" || a.Status == "" && !a.EndsAt.After(r.clock.now())
		r.all = append(r.all, notice{to, a.Labels.Get("host"), resolved, time.Now()})
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, err
}

// of returns what a receiver got about an alert.
func (r *receivers) of(to, name string) (out []notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		if x.to == to && x.name == name {
			out = append(out, x)
		}
	}
	return out
}

const clockRules = `groups: [{name: g, interval: 10s, rules: [
  {record: r, expr: 'sum'},
  {alert: Now, expr: 'm > 5'},
  {alert: Soon, expr: 'n > 5', for: 2m},
  {alert: Kept, expr: 'o > 5', keep_firing_for: 2m}]}]`

// TestClockIsSet: when the clock was set back, all groups stood still until it had caught up: what
// fired was resolved by Alertmanager, and nothing new fired. After a jump forward thousands of
// evaluations counted as missed.
func TestClockIsSet(t *testing.T) {
	const years = 40 * 365 * 24 * time.Hour
	for _, by := range []time.Duration{20 * time.Second, time.Hour, 5 * time.Hour, years} {
		for _, d := range []time.Duration{by, -by} {
			t.Run(d.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { clockIsSet(t, d) }) })
		}
	}
}

func clockIsSet(t *testing.T, by time.Duration) {
	c := &clock{}
	c.years(45) // clear of 1970
	sent := &receivers{clock: c}
	newest := time.Time{}
	m, w := manager(t, clockRules, func(f *Config) {
		f.Now, f.Client = c.now, &http.Client{Transport: sent}
		f.Alertmanagers, f.Webhooks = []string{"http://manager/"}, []string{"http://hook/hook"}
		f.Record = func(_ context.Context, at time.Time, _ time.Duration, s []Sample) error {
			if !at.After(newest) {
				return &core.RejectedError{Late: len(s)}
			}
			newest = at
			return nil
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	defer func() { cancel(); <-done }()

	const slack = 21 * time.Second // two intervals
	w.set("sum", map[string]float64{"": 1})
	w.set("m > 5", map[string]float64{"old": 6})
	w.set("o > 5", map[string]float64{"kept": 6})
	time.Sleep(4 * time.Minute)
	w.set("n > 5", map[string]float64{"soon": 6})
	w.set("o > 5", nil)
	time.Sleep(time.Minute)
	before := m.Counts()
	c.set(by)
	jump := time.Now()
	w.set("m > 5", map[string]float64{"old": 6, "new": 6})
	time.Sleep(8 * time.Minute)
	w.set("m > 5", map[string]float64{"new": 6})
	end := time.Now()
	time.Sleep(time.Minute)

	last := time.Time{}
	for _, x := range sent.of("manager", "old") {
		if gap := x.at.Sub(last); !last.IsZero() && gap > resend+slack {
			t.Errorf("Alertmanager heard nothing of a firing alert for %v", gap)
		}
		if last = x.at; x.resolved && x.at.Before(end) {
			t.Errorf("a firing alert was resolved %v after the clock was set", x.at.Sub(jump))
			break
		}
	}
	// first returns when a receiver first got that an alert fires or is resolved.
	first := func(name string, resolved bool) time.Duration {
		for _, x := range sent.of("hook", name) {
			if x.resolved == resolved {
				return x.at.Sub(jump)
			}
		}
		return -time.Hour
	}
	for _, x := range []struct {
		name     string
		resolved bool
		want     time.Duration // after the clock was set
	}{
		{"new", false, 0},
		{"soon", false, time.Minute}, // of two minutes one had passed
		{"kept", true, time.Minute},  // likewise
		{"old", true, end.Sub(jump)},
	} {
		if got := first(x.name, x.resolved); got < x.want-slack || got > x.want+slack {
			t.Errorf("%s, resolved %v: told %v after the clock was set, want %v", x.name, x.resolved, got, x.want)
		}
	}
	for _, name := range []string{"old", "new", "soon", "kept"} {
		if all := sent.of("hook", name); len(all) > 2 {
			t.Errorf("the webhook was told %d times of %s", len(all), name)
		}
	}
	after := m.Counts()
	if n := after.Evaluations - before.Evaluations; n < 4*51 || n > 4*56 {
		t.Errorf("%d evaluations in nine minutes, want some 4*54", n)
	}
	if after.Missed != 0 {
		t.Errorf("%d evaluations count as missed", after.Missed)
	}
	if late := by < -time.Minute; late != (after.Late > 0) {
		t.Errorf("%d recorded samples count as late", after.Late)
	}
}

// TestClockIsSetBackOverARestart: an alert that was pending waited until the clock had caught up.
func TestClockIsSetBackOverARestart(t *testing.T) {
	const years = 40 * 365 * 24 * time.Hour
	for _, by := range []time.Duration{20 * time.Second, time.Hour, 5 * time.Hour, years} {
		c := &clock{}
		c.set(by)
		m, w := manager(t, loadRules, func(f *Config) {
			f.Now, f.StateFile = c.now, filepath.Join(t.TempDir(), "alerts.json")
		})
		w.set("m > 5", map[string]float64{"a": 6})
		m.evaluate(t.Context(), m.groups[0], c.now())
		c.set(-by)
		now := c.now()
		for since, want := range map[time.Duration]string{time.Minute: "a pending", 2*time.Minute + time.Second: "a firing"} {
			one, err := New(m.Config)
			if err != nil {
				t.Fatal(err)
			}
			one.StateFile = "" // the next one reads the same
			one.evaluate(t.Context(), one.groups[0], now.Add(since))
			if got := states(t, one); len(got) != 1 || got[0] != want {
				t.Errorf("%v back, after %v: %q, want %q", by, since, got, want)
			}
		}
	}
}

// TestSlowGroupMisses: what is left out because an evaluation took too long is counted.
func TestSlowGroupMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := manager(t, "groups: [{name: g, interval: 10s, rules: [{alert: A, expr: m}]}]", nil)
		query := m.Query
		m.Query = func(ctx context.Context, expr string, at time.Time) (v promql.Vector, err error) {
			time.Sleep(35 * time.Second)
			return query(ctx, expr, at)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		cancel()
		<-done
		if c := m.Counts(); c.Evaluations+c.Missed < 55 || c.Evaluations+c.Missed > 60 || c.Evaluations > 17 {
			t.Errorf("%d evaluations and %d missed in ten minutes, want 60 together", c.Evaluations, c.Missed)
		}
		if s := m.Troubles().Slow; len(s) != 1 || s[0] != (Slow{"g", 35 * time.Second, 10 * time.Second}) {
			t.Errorf("slow groups: %v", s)
		}
	})
}
