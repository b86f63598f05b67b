package alerts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// reported returns what Report has.
func reported(t *testing.T, m *Manager) *rondov1.AlertsResponse {
	t.Helper()
	report, err := m.Report(t.Context(), nil, &rondov1.AlertsRequest{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// listed returns the alerts of a report, as "alert state since" with since after at.
func listed(t *testing.T, m *Manager, at time.Time) (out []string) {
	t.Helper()
	for _, a := range reported(t, m).GetAlerts() {
		if len(a.GetLabels()) != 1 || a.GetLabels()[0].GetName() != "host" {
			t.Errorf("labels %v", a.GetLabels())
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %v %v", a.GetLabels()[0].GetValue(), a.GetState(), time.UnixMicro(a.GetSinceUs()).Sub(at), a.GetValue()))
	}
	return out
}

// TestList: an alert stays in the list for a day after it was resolved, over a restart too, and is
// sent no longer than before.
func TestList(t *testing.T) {
	began := time.Unix(1_700_000_000, 0).UTC()
	now := began
	state := t.TempDir() + "/alerts.json"
	change := func(c *Config) { c.StateFile, c.Now = state, func() time.Time { return now } }
	m, w := manager(t, "groups: [{name: g, rules: [{alert: High, expr: m > 5, for: 2m}]}]", change)
	step := func(after time.Duration, hosts map[string]float64) {
		now = began.Add(after)
		w.set("m > 5", hosts)
		m.evaluate(t.Context(), m.groups[0], now)
	}
	step(0, map[string]float64{"a": 6, "b": 8})
	step(time.Minute, map[string]float64{"a": 6, "b": 8, "c": 9})
	step(2*time.Minute, map[string]float64{"a": 7, "b": 8, "c": 9})
	step(3*time.Minute, map[string]float64{"a": 7, "c": 9, "d": 6})
	want := []string{"c firing 3m0s 9", "a firing 2m0s 7", "d pending 3m0s 6", "b resolved 3m0s 8"}
	if got := listed(t, m, began); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	report := reported(t, m)
	if report.GetFiring() != 2 || report.GetPending() != 1 || report.GetResolved() != 1 {
		t.Errorf("counts %v", report)
	}
	if a := report.GetAlerts()[0]; a.GetName() != "High" || a.GetGroup() != "g" || a.GetExpr() != "m > 5" || a.GetCompared() != "m" || a.GetThreshold() != 5 {
		t.Errorf("%+v", a)
	}
	if less, err := m.Report(t.Context(), nil, &rondov1.AlertsRequest{Limit: 1}); err != nil || len(less.GetAlerts()) != 1 || less.GetResolved() != 1 {
		t.Errorf("with a limit of one: %v, %v", less, err)
	}
	again, err := New(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	m = again
	if got := listed(t, m, began); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart: %q, want %q", got, want)
	}
	step(20*time.Minute, nil)
	for _, a := range m.groups[0].rules[0].active {
		if due, _ := a.due(now); due && now.Sub(a.ResolvedAt) > tell {
			t.Errorf("%v is still sent", a.Labels)
		}
	}
	step(24*time.Hour+4*time.Minute, nil)
	if got, want := listed(t, m, began), []string{"a resolved 20m0s 7", "c resolved 20m0s 9"}; !reflect.DeepEqual(got, want) {
		t.Errorf("after a day: %q, want %q", got, want)
	}
}

// TestResolvedAreBounded: a rule whose labels change all the time would keep a day of them.
func TestResolvedAreBounded(t *testing.T) {
	m, w := manager(t, "groups: [{name: g, rules: [{alert: High, expr: m}]}]", nil)
	at := time.Unix(1_700_000_000, 0)
	for i := range 3 * maxResolved {
		w.set("m", map[string]float64{fmt.Sprint("host", i): 1})
		m.evaluate(t.Context(), m.groups[0], at)
		at = at.Add(time.Minute)
	}
	report := reported(t, m)
	if n, most := report.GetResolved(), int64(maxResolved+int(tell/time.Minute)+1); report.GetFiring() != 1 || n > most || n < maxResolved {
		t.Errorf("%d fire and %d are resolved, want 1 and at most %d", report.GetFiring(), n, most)
	}
}

func TestComparison(t *testing.T) {
	for expr, want := range map[string]string{
		"m > 5":               "m 5",
		"(5 < (sum(m)))":      "sum(m) 5",
		"m <= -(2)":           "m -2",
		"m == +Inf":           "m +Inf",
		"rate(m[5m]) != 1e3":  "rate(m[5m]) 1000",
		"m > bool 5":          "",
		"m > n":               "",
		"m > 5 and n":         "",
		"1 > bool 2":          "",
		"absent(m)":           "",
		"vector(1) / 0 > 2+3": "",
	} {
		e, err := parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		got, n := comparison(e)
		if got != "" {
			got = fmt.Sprint(got, " ", n)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// TestRulesAreChosen: a request chooses among the rules as it does with Prometheus.
func TestRulesAreChosen(t *testing.T) {
	m, w := manager(t, loadRules, nil)
	w.set("m > 5", map[string]float64{"a": 6})
	m.evaluate(t.Context(), m.groups[0], time.Now())
	for query, want := range map[string]string{
		"":                            "High 1, job:m:sum",
		"type=alert":                  "High 1",
		"type=ALERT":                  "High 1",
		"type=Record":                 "job:m:sum",
		"exclude_alerts=true":         "High 0, job:m:sum",
		"exclude_alerts=1":            "High 0, job:m:sum",
		"exclude_alerts=false":        "High 1, job:m:sum",
		"rule_name[]=job:m:sum":       "job:m:sum",
		"rule_group[]=other":          "",
		"match[]={severity=\"page\"}": "High 1",
		"match[]={team=\"a\"}":        "High 1, job:m:sum",
		"match[]={team=\"a\",severity!=\"page\"}":              "job:m:sum",
		"match[]={severity=\"x\"}&match[]={source=~\"rond.\"}": "job:m:sum",
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/rules?"+strings.ReplaceAll(strings.ReplaceAll(query, "{", "%7B"), "\"", "%22"), nil)
		if err := r.ParseForm(); err != nil {
			t.Fatal(err)
		}
		text, _, err := m.Rules(r)
		var groups []struct {
			Rules []struct {
				Name   string
				Alerts []any
			}
		}
		if err := cmp.Or(err, json.Unmarshal(text, &groups)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range groups {
			for _, x := range g.Rules {
				if got = append(got, x.Name); x.Alerts != nil {
					got[len(got)-1] += fmt.Sprint(" ", len(x.Alerts))
				}
			}
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// TestRulesInPages: each page but the last has the token of the next one, whatever else chooses.
func TestRulesInPages(t *testing.T) {
	m, _ := manager(t, `groups:
- {name: a, rules: [{alert: A, expr: m > 1}]}
- {name: b, rules: [{record: "b:m", expr: m}]}
- {name: c, rules: [{alert: C, expr: m > 1}]}
- {name: d, rules: [{alert: D, expr: m > 1}]}`, nil)
	page := func(query string) (names, next string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/api/v1/rules?"+query, nil)
		text, next, err := m.Rules(r)
		var groups []struct{ Name string }
		if err := cmp.Or(err, json.Unmarshal(text, &groups)); err != nil {
			return err.Error(), ""
		}
		for _, g := range groups {
			names += g.Name
		}
		return names, next
	}
	for query, want := range map[string][]string{
		"group_limit=2": {"ab", "cd"}, "group_limit=4": {"abcd"}, "group_limit=1": {"a", "b", "c", "d"},
		"group_limit=2&type=alert": {"ac", "d"}, "group_limit=1&type=record": {"b"},
	} {
		var got []string
		names, next := page(query)
		for got = append(got, names); next != ""; got = append(got, names) {
			names, next = page(query + "&group_next_token=" + next)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got, _ := page("group_limit=2&group_next_token=x"); !strings.Contains(got, "invalid group_next_token 'x'") {
		t.Error(got)
	}
}
