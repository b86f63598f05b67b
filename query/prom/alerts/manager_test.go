package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// A world answers queries and takes what rules record and send.
type world struct {
	mu       sync.Mutex
	answers  map[string]promql.Vector
	errs     map[string]error
	asked    []time.Time // times of queries
	recorded []Sample
	rows     []string // times and steps of what was recorded
	bodies   []string
	status   int
}

func (w *world) query(_ context.Context, expr string, at time.Time) (promql.Vector, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, at)
	return slices.Clone(w.answers[expr]), w.errs[expr]
}

func (w *world) record(_ context.Context, at time.Time, step time.Duration, ss []Sample) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = append(w.rows, fmt.Sprintf("%d+%s", at.UnixNano(), step))
	w.recorded = append(w.recorded, ss...)
	return nil
}

// set changes the answer of an expression: a sample of each host, with its value.
func (w *world) set(expr string, hosts map[string]float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var v promql.Vector
	for h, x := range hosts {
		v = append(v, promql.Sample{F: x, Metric: labels.FromStrings("__name__", "m", "host", h)})
	}
	w.answers[expr] = v
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.bodies = append(w.bodies, r.URL.Path+" "+string(body))
	}
	rw.WriteHeader(w.status)
}

// manager returns a manager of one file of rules, and its world.
func manager(t *testing.T, rules string, change func(*Config)) (*Manager, *world) {
	t.Helper()
	w := &world{answers: make(map[string]promql.Vector), errs: make(map[string]error), status: http.StatusOK}
	file := filepath.Join(t.TempDir(), "a.rules.yml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Files: []string{file}, Query: w.query, Record: w.record, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, w
}

const loadRules = `groups:
  - name: g
    labels: {team: a}
    rules:
      - alert: High
        expr: m > 5
        for: 2m
        keep_firing_for: 1m
        labels: {severity: page, host_is: "{{ $labels.host }}"}
        annotations: {summary: "{{ $labels.host }} has {{ $value }}", broken: "{{ .Nothing.At.All }}"}
      - record: job:m:sum
        expr: sum(m)
        labels: {source: rondo}
`

// states returns the alerts of the API as "host state".
func states(t *testing.T, m *Manager) (out []string) {
	t.Helper()
	b, err := m.Alerts()
	if err != nil {
		t.Fatal(err)
	}
	var as []struct {
		Labels, Annotations map[string]string
		State               string
	}
	if err := json.Unmarshal(b, &as); err != nil {
		t.Fatal(err)
	}
	for _, a := range as {
		out = append(out, a.Labels["host"]+" "+a.State)
	}
	return out
}

// TestLifeOfAlerts follows two alerts from pending to resolved.
func TestLifeOfAlerts(t *testing.T) {
	m, w := manager(t, loadRules, nil)
	at := time.Unix(1_700_000_000, 0)
	both, one := map[string]float64{"a": 6, "b": 7}, map[string]float64{"a": 8}
	for i, step := range []struct {
		hosts map[string]float64
		want  []string
	}{
		{both, []string{"a pending", "b pending"}},
		{both, []string{"a pending", "b pending"}},
		{one, []string{"a firing"}}, // b was pending: it is gone at once
		{both, []string{"a firing", "b pending"}},
		{nil, []string{"a firing"}}, // kept for a minute
		{nil, nil},
		{one, []string{"a pending"}}, // begins anew
	} {
		w.set("m > 5", step.hosts)
		m.evaluate(t.Context(), m.groups[0], at)
		if got := states(t, m); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		at = at.Add(time.Minute)
	}
	var a *alert
	for _, x := range m.groups[0].rules[0].active {
		a = x
	}
	want := labels.FromStrings("alertname", "High", "host", "a", "host_is", "a", "severity", "page", "team", "a")
	if a == nil || !labels.Equal(a.Labels, want) || a.Annotations.Get("summary") != "a has 8" || !strings.Contains(a.Annotations.Get("broken"), "error expanding template") {
		t.Errorf("%+v", a)
	}
}

// TestRecording: the samples of a rule have its name and labels, and failures are reported.
func TestRecording(t *testing.T) {
	m, w := manager(t, loadRules, nil)
	w.set("sum(m)", map[string]float64{"a": 3})
	w.errs["m > 5"] = errors.New("too slow")
	m.evaluate(t.Context(), m.groups[0], time.Unix(1_700_000_000, 0))
	want := labels.FromStrings("__name__", "job:m:sum", "host", "a", "source", "rondo", "team", "a")
	if len(w.recorded) != 1 || !labels.Equal(w.recorded[0].Labels, want) || w.recorded[0].Value != 3 {
		t.Errorf("%v", w.recorded)
	}
	if f := m.Troubles().Failing; len(f) != 1 || f[0] != (Failing{"g", "High", "too slow"}) {
		t.Errorf("%v", f)
	}
	r := httptest.NewRequest(http.MethodGet, "/?type=record", nil)
	if err := r.ParseForm(); err != nil {
		t.Fatal(err)
	}
	if b, _, err := m.Rules(r); err != nil || !strings.Contains(string(b), `"health":"ok"`) || strings.Contains(string(b), "High") {
		t.Errorf("%s, %v", b, err)
	}
	b, _, err := m.Rules(httptest.NewRequest(http.MethodGet, "/", nil))
	if err != nil || !strings.Contains(string(b), `"lastError":"too slow"`) || !strings.Contains(string(b), `"duration":120`) {
		t.Errorf("%s, %v", b, err)
	}
	if c := m.Counts(); c.Evaluations != 2 || c.Failures != 1 || c.Rules != 2 {
		t.Errorf("%+v", c)
	}
	w.answers["sum(m)"] = append(w.answers["sum(m)"], w.answers["sum(m)"][0])
	m.evaluate(t.Context(), m.groups[0], time.Unix(1_700_000_060, 0))
	if f := m.Troubles().Failing; len(f) != 2 || !strings.Contains(f[1].Err, "several samples") {
		t.Errorf("%v", f)
	}
}

// TestEvaluationIsARow: a recording rule stored samples somewhere within a row, so that a row held
// parts of two evaluations. What it stores is the value at the end of a row, and each row gets one
// sample, wherever in the interval the group is evaluated.
func TestEvaluationIsARow(t *testing.T) {
	for _, tt := range []struct{ interval, offset, step string }{
		{"30s", "0s", "30s"},
		{"7s", "0s", "7s"}, // 1970 began in the middle of such an interval since the year 1
		{"1m", "90s", "1m0s"},
		{"2500ms", "0s", "2s"},
		{"300ms", "0s", "1s"},
	} {
		m, w := manager(t, fmt.Sprintf("groups: [{name: g, interval: %s, query_offset: %s, rules: [{record: r, expr: m}]}]", tt.interval, tt.offset), nil)
		w.set("m", map[string]float64{"a": 1})
		g := m.groups[0]
		step, offset := must(time.ParseDuration(tt.step)), must(time.ParseDuration(tt.offset))
		var want []string
		at, last := g.next(time.Unix(1_700_000_003, 0)), time.Time{}
		for range 12 {
			m.evaluate(t.Context(), g, at)
			if end := time.Unix(0, at.Add(-offset).UnixNano()/int64(step)*int64(step)); end.After(last) {
				want, last = append(want, fmt.Sprintf("%d+%s", end.UnixNano(), step)), end
				if got := w.asked[len(w.asked)-1]; !got.Equal(end) {
					t.Errorf("%s: the row that ends at %s has the value of %s", tt.interval, end, got)
				}
			}
			at = at.Add(g.interval)
		}
		if !slices.Equal(w.rows, want) {
			t.Errorf("%s: recorded %v, want %v", tt.interval, w.rows, want)
		}
		if g.interval == step && len(want) != 12 {
			t.Errorf("%s: 12 evaluations give %d rows", tt.interval, len(want))
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// fire returns a manager whose alert fires at once, and where it sends to.
func fire(t *testing.T, change func(c *Config, url string)) (*Manager, *world) {
	t.Helper()
	var target *world
	m, w := manager(t, "groups: [{name: g, rules: [{alert: High, expr: m}]}]", func(c *Config) {
		target = new(world)
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { target.ServeHTTP(rw, r) }))
		t.Cleanup(srv.Close)
		c.ExternalURL = &url.URL{Scheme: "http", Host: "rondo.example"}
		change(c, srv.URL)
	})
	target.status = http.StatusOK
	w.set("m", map[string]float64{"a": 1})
	return m, target
}

// sent runs the senders until done is true, and returns the requests that have come.
func sent(t *testing.T, m *Manager, w *world, done func() bool) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range m.senders {
		wg.Go(func() { s.run(ctx) })
	}
	for ctx.Err() == nil && !done() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bodies)
}

// TestSending: an Alertmanager gets alerts every minute, a webhook news only.
func TestSending(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	m, target := fire(t, func(c *Config, url string) { c.Alertmanagers = []string{url + "/am/"} })
	for range 2 {
		m.evaluate(t.Context(), m.groups[0], at)
		at = at.Add(time.Minute)
	}
	got := sent(t, m, target, func() bool { return m.Counts().Sent == 2 })
	if len(got) != 1 || !strings.HasPrefix(got[0], "/am/api/v2/alerts [{") || strings.Count(got[0], `"alertname":"High"`) != 2 ||
		!strings.Contains(got[0], `"startsAt":"2023-11-14T22:13:20Z","endsAt":"2023-11-14T22:17:20Z","generatorURL":"http://rondo.example/api/v1/query?query=m"`) {
		t.Errorf("%q", got)
	}

	at = time.Unix(1_700_000_000, 0)
	m, target = fire(t, func(c *Config, url string) { c.Webhooks = []string{url + "/hook"} })
	for range 3 {
		m.evaluate(t.Context(), m.groups[0], at)
		at = at.Add(time.Minute)
	}
	m.Query = func(context.Context, string, time.Time) (promql.Vector, error) { return nil, nil }
	m.evaluate(t.Context(), m.groups[0], at)
	got = sent(t, m, target, func() bool { return m.Counts().Sent == 2 })
	if len(got) != 1 || strings.Count(got[0], `"alertname":"High"`) != 2 || !strings.Contains(got[0], `"status":"firing","truncated`) ||
		!strings.Contains(got[0], `{"status":"firing",`) || !strings.Contains(got[0], `{"status":"resolved",`) {
		t.Errorf("%q", got)
	}
}

// TestNotSent: what a webhook did not take is tried again, and after the process was killed; what it
// refuses is not.
func TestNotSent(t *testing.T) {
	state := filepath.Join(t.TempDir(), "alerts.json")
	m, target := fire(t, func(c *Config, url string) { c.Webhooks, c.StateFile = []string{url}, state })
	target.status = http.StatusServiceUnavailable
	m.evaluate(t.Context(), m.groups[0], time.Now())
	sent(t, m, target, func() bool { return m.Counts().SendFailures > 0 })
	if r := m.Troubles().Refusing; len(r) != 1 || r[0].To != m.senders[0].url || !strings.Contains(r[0].Err, "503") {
		t.Errorf("a webhook that refuses: %+v", r)
	}
	if c := m.Counts(); c.SendFailures == 0 || c.Sent != 0 || len(m.unsent()) != 1 {
		t.Errorf("%+v, %d wait", c, len(m.unsent()))
	}
	again, err := New(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	target.status = http.StatusBadRequest
	again.evaluate(t.Context(), again.groups[0], time.Now())
	sent(t, again, target, func() bool { return len(again.unsent()) == 0 })
	if len(again.unsent()) != 0 {
		t.Error("what was refused waits still")
	}
	if r := again.Troubles().Refusing; len(r) != 1 || !strings.Contains(r[0].Err, "400") {
		t.Errorf("a webhook that has refused for good: %+v", r)
	}
	target.status = http.StatusOK
	again.senders[0].add([]message{{news: true}})
	sent(t, again, target, func() bool { return again.Counts().Sent == 1 })
	if r := again.Troubles().Refusing; r != nil {
		t.Errorf("a webhook that takes alerts again: %+v", r)
	}
}

// TestRestart: an alert that fires goes on where it was; one that was pending for a part of its
// time, too.
func TestRestart(t *testing.T) {
	state := filepath.Join(t.TempDir(), "alerts.json")
	m, w := manager(t, loadRules, func(c *Config) { c.StateFile = state })
	at := time.Now().Add(-90 * time.Second)
	w.set("m > 5", map[string]float64{"a": 6})
	m.evaluate(t.Context(), m.groups[0], at)
	again, err := New(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	again.evaluate(t.Context(), again.groups[0], at.Add(2*time.Minute))
	if got := states(t, again); !slices.Equal(got, []string{"a firing"}) {
		t.Errorf("%q", got)
	}
	for name, text := range map[string]string{"cut": `{"version":1,"al`, "other version": `{"version":9}`, "state": strings.Replace(readFile(t, state), `"pending"`, `"odd"`, 1)} {
		if err := os.WriteFile(state, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		damaged, err := New(m.Config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := states(t, damaged); name != "state" && len(got) != 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReload: alerts stay when their rule does, and a mistake changes nothing.
func TestReload(t *testing.T) {
	m, w := manager(t, loadRules, nil)
	w.set("m > 5", map[string]float64{"a": 6})
	m.evaluate(t.Context(), m.groups[0], time.Now())
	if err := os.WriteFile(m.Files[0], []byte("groups: [{name: g, rules: [{alert: High, expr: '1 +'}]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := m.Reload(m.Files)
	if err == nil || !strings.Contains(err.Error(), m.Files[0]) || !strings.Contains(err.Error(), "High") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(m.Files[0], []byte(strings.Replace(loadRules, "for: 2m", "for: 3m", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Reload(m.Files); err != nil {
		t.Fatal(err)
	}
	if got := states(t, m); !slices.Equal(got, []string{"a pending"}) || m.groups[0].rules[0].hold != 3*time.Minute {
		t.Errorf("%q, for %v", got, m.groups[0].rules[0].hold)
	}
}

// TestMistakes: each is reported with its file.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"groups: [{name: g, rules: [{alert: A, expr: 'm >'}]}]":                        "could not parse expression",
		"groups: [{name: g, rules: [{alert: A, expr: m, whatever: 1}]}]":               "whatever",
		"groups: [{name: g, rules: [{expr: m}]}]":                                      "one of 'record' or 'alert' must be set",
		"groups: [{name: g, rules: []}, {name: g, rules: []}]":                         "repeated in the same file",
		"groups: [{name: g, rules: [{alert: A, expr: m, labels: {a: '{{ nofn }}'}}]}]": "nofn",
		"}": "yaml",
	} {
		file := filepath.Join(t.TempDir(), "r.yml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Parse([]string{file}, time.Minute); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := Parse([]string{filepath.Join(t.TempDir(), "none.yml")}, time.Minute); err == nil {
		t.Error("a file that is missing")
	}
	if err := Parse([]string{filepath.Join(t.TempDir(), "*.yml")}, time.Minute); err != nil {
		t.Errorf("a pattern without files: %v", err)
	}
	if _, err := New(Config{Alertmanagers: []string{"localhost:9093"}, Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("an address without a scheme")
	}
}

// TestRun evaluates by the clock, and ends.
func TestRun(t *testing.T) {
	m, w := manager(t, "groups: [{name: g, interval: 1s, rules: [{record: x, expr: m}]}]", nil)
	w.set("m", map[string]float64{"a": 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	for m.Counts().Evaluations < 1 {
		time.Sleep(time.Millisecond)
	}
	if err := m.Reload(m.Files); err != nil {
		t.Fatal(err)
	}
	n := m.Counts().Evaluations
	for m.Counts().Evaluations <= n {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
}

// TestCostlyExpressionOfARule: the parser takes time by the square of its depth.
func TestCostlyExpressionOfARule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yml")
	text := "groups: [{name: g, rules: [{record: a, expr: '1'}, {record: b, expr: '1" + strings.Repeat("+1", 60_000) + "'}]}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Parse([]string{file}, time.Minute); err == nil || !strings.Contains(err.Error(), `group "g", rule 2: the expression has 120001 words`) {
		t.Error(err)
	}
}
