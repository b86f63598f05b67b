package alerts

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// The answers of Prometheus' API about rules and alerts.
type (
	groupJSON struct {
		Name     string    `json:"name"`
		File     string    `json:"file"`
		Rules    []any     `json:"rules"`
		Interval float64   `json:"interval"`
		Limit    int       `json:"limit"`
		Time     float64   `json:"evaluationTime"`
		Last     time.Time `json:"lastEvaluation"`
	}
	alertJSON struct {
		Labels      labels.Labels `json:"labels"`
		Annotations labels.Labels `json:"annotations"`
		State       state         `json:"state"`
		ActiveAt    *time.Time    `json:"activeAt,omitempty"`
		KeepSince   *time.Time    `json:"keepFiringSince,omitempty"`
		Value       string        `json:"value"`
	}
	ruleJSON struct {
		Name      string            `json:"name"`
		Query     string            `json:"query"`
		Labels    map[string]string `json:"labels,omitempty"`
		Health    string            `json:"health"`
		LastError string            `json:"lastError,omitempty"`
		Time      float64           `json:"evaluationTime"`
		Last      time.Time         `json:"lastEvaluation"`
		Type      string            `json:"type"`
	}
	alertingJSON struct {
		State       state             `json:"state"`
		Duration    float64           `json:"duration"`
		Keep        float64           `json:"keepFiringFor"`
		Annotations map[string]string `json:"annotations"`
		Alerts      []alertJSON       `json:"alerts"`
		ruleJSON
	}
)

// Rules returns the groups as Prometheus' API does: a JSON array. The parameters type (alert or
// record), rule_name[], rule_group[], file[], match[] and exclude_alerts of the request choose.
// With group_limit it returns so many groups at most, and the token of the next one, if there is
// one. They begin with the group of group_next_token; an error says that there is no such group.
func (m *Manager) Rules(r *http.Request) (groups []byte, next string, err error) {
	chosen := func(param, value string) bool {
		list := r.Form[param]
		return len(list) == 0 || slices.Contains(list, value)
	}
	kind := strings.ToLower(r.FormValue("type"))
	bare, _ := strconv.ParseBool(r.FormValue("exclude_alerts")) // what is no word for true is false
	sets, err := parser.ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		return nil, "", err
	}
	most, _ := strconv.Atoi(r.FormValue("group_limit"))
	from := r.FormValue("group_next_token")
	out := []groupJSON{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.groups {
		if from != "" && from != g.token() {
			continue
		}
		from = ""
		if !chosen("rule_group[]", g.name) || !chosen("file[]", g.file) {
			continue
		}
		gj := groupJSON{Name: g.name, File: g.file, Rules: []any{}, Interval: g.interval.Seconds(), Limit: g.limit, Time: g.took.Seconds(), Last: g.evaluated}
		for _, rule := range g.rules {
			if chosen("rule_name[]", rule.name) && (kind == "" || (kind == "alert") == rule.alerting) && rule.fits(sets) {
				gj.Rules = append(gj.Rules, rule.json(bare))
			}
		}
		if len(gj.Rules) == 0 {
			continue
		}
		if most > 0 && len(out) == most {
			next = g.token()
			break
		}
		out = append(out, gj)
	}
	if from != "" {
		return nil, "", fmt.Errorf("invalid group_next_token '%s'. were rule groups changed?", from)
	}
	groups, err = json.Marshal(out)
	return groups, next, err
}

// token names the group in a page of groups.
func (g *group) token() string { return fmt.Sprintf("%x", sha1.Sum([]byte(g.file+";"+g.name))) }

// fits reports whether the labels that the rule gives fit all matchers of a set; of no sets any do.
func (r *rule) fits(sets [][]*labels.Matcher) bool {
	lacks := func(m *labels.Matcher) bool { return !m.Matches(r.labels[m.Name]) }
	return len(sets) == 0 || slices.ContainsFunc(sets, func(ms []*labels.Matcher) bool { return !slices.ContainsFunc(ms, lacks) })
}

func (r *rule) json(bare bool) any {
	out := ruleJSON{Name: r.name, Query: r.expr, Labels: r.labels, Health: "unknown", Time: r.took.Seconds(), Last: r.evaluated, Type: "recording"}
	switch {
	case r.err != nil:
		out.Health, out.LastError = "err", r.err.Error()
	case !r.evaluated.IsZero():
		out.Health = "ok"
	}
	if !r.alerting {
		return out
	}
	out.Type = "alerting"
	notes := r.annotations
	if notes == nil {
		notes = map[string]string{}
	}
	a := alertingJSON{r.state(), r.hold.Seconds(), r.keep.Seconds(), notes, []alertJSON{}, out}
	if !bare {
		a.Alerts = r.list()
	}
	return a
}

// list returns the alerts of a rule that are pending or fire.
func (r *rule) list() []alertJSON {
	out := []alertJSON{}
	for _, a := range r.active {
		if a.State == inactive {
			continue
		}
		j := alertJSON{a.Labels, a.Annotations, a.State, &a.ActiveAt, nil, strconv.FormatFloat(a.Value, 'e', -1, 64)}
		if !a.KeepSince.IsZero() {
			j.KeepSince = &a.KeepSince
		}
		out = append(out, j)
	}
	slices.SortFunc(out, func(a, b alertJSON) int { return labels.Compare(a.Labels, b.Labels) })
	return out
}

// Alerts returns the alerts that are pending or fire as Prometheus' API does: a JSON array.
func (m *Manager) Alerts() ([]byte, error) {
	out := []alertJSON{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.groups {
		for _, r := range g.rules {
			out = append(out, r.list()...)
		}
	}
	return json.Marshal(out)
}
