package alerts

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// A rule is a rule with its state.
type rule struct {
	name        string // of the alert, or of the metric that is recorded
	twin        int    // how many alerting rules of the group before it have the same name and labels
	alerting    bool
	expr        string
	compared    string        // what expr compares with threshold; empty: nothing
	threshold   float64       // a number
	reads       []reading     // what an alerting rule reads
	hold        time.Duration // for
	keep        time.Duration // keep_firing_for
	labels      map[string]string
	annotations map[string]string
	active      map[uint64]*alert // by the hash of its labels
	err         error             // of the last evaluation
	evaluated   time.Time
	took        time.Duration
	recordedTo  time.Time // end of the last row that was recorded
}

// maxAlerts is how many alerts one rule may have. A rule with more is an error, and has none. Of
// those that were resolved, the last maxResolved are known after they are sent no more.
const (
	maxAlerts   = 10_000
	maxResolved = 100
)

func newRule(r rulefmt.Rule, shared map[string]string) *rule {
	ls := maps.Clone(shared)
	if ls == nil {
		ls = make(map[string]string)
	}
	maps.Copy(ls, r.Labels) // the rule's own go first
	out := &rule{
		name: r.Record, expr: r.Expr, hold: time.Duration(r.For), keep: time.Duration(r.KeepFiringFor),
		labels: ls, annotations: r.Annotations,
	}
	if r.Alert != "" {
		out.name, out.alerting, out.active = r.Alert, true, make(map[uint64]*alert)
		if e, err := parser.ParseExpr(r.Expr); err == nil {
			out.compared, out.threshold = comparison(e)
			out.reads = readings(e, nil, false)
		}
	}
	return out
}

// key identifies the rule within its group, however its expression or its annotations change. It is
// part of the format of what is kept.
func (r *rule) key() string {
	key := r.name + labels.FromMap(r.labels).String()
	if r.twin > 0 {
		key += fmt.Sprint("#", r.twin)
	}
	return key
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash does not fail
	return h.Sum64()
}

// A Sample is a sample that a recording rule gives.
type Sample struct {
	Labels labels.Labels // with the name of the metric
	Value  float64
}

func (r *rule) recorded(vector promql.Vector) ([]Sample, error) {
	out := make([]Sample, 0, len(vector))
	seen := make(map[uint64]bool, len(vector))
	for _, s := range vector {
		b := labels.NewBuilder(s.Metric)
		b.Set(model.MetricNameLabel, r.name)
		for name, value := range r.labels {
			b.Set(name, value)
		}
		ls := b.Labels()
		if h := ls.Hash(); seen[h] {
			return nil, fmt.Errorf("several samples have the labels %s", ls)
		} else {
			seen[h] = true
		}
		if s.H == nil && !math.IsNaN(s.F) {
			out = append(out, Sample{ls, s.F})
		}
	}
	return out, nil
}

// addressOf returns an address as text, or "" if there is no address.
func addressOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

// alerts returns the alerts that a vector makes of an alerting rule, by the hash of their labels.
func (r *rule) alerts(ctx context.Context, e *expander, vector promql.Vector) (map[uint64]*alert, error) {
	if len(vector) > maxAlerts {
		return nil, fmt.Errorf("%d alerts: a rule may have %d", len(vector), maxAlerts)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTemplate)
	defer cancel()
	out := make(map[uint64]*alert, len(vector))
	for _, s := range vector {
		b := labels.NewBuilder(s.Metric)
		b.Del(model.MetricNameLabel)
		for name, text := range r.labels {
			b.Set(name, e.expand(ctx, r.name, text, s))
		}
		b.Set(labels.AlertName, r.name)
		ls := b.Labels()
		h := ls.Hash()
		if out[h] != nil {
			return nil, fmt.Errorf("several alerts have the labels %s", ls)
		}
		a := &alert{Labels: ls, Value: s.F, State: pending, ActiveAt: e.at}
		notes := make(map[string]string, len(r.annotations))
		for name, text := range r.annotations {
			notes[name] = e.expand(ctx, r.name, text, s)
		}
		a.Annotations = labels.FromMap(notes)
		out[h] = a
	}
	return out, nil
}

// update takes over what an evaluation at a time has found, and reports whether the state of an
// alert has changed.
func (r *rule) update(found map[uint64]*alert, at time.Time) (changed bool) {
	for h, f := range found {
		a := r.active[h]
		if a == nil || a.State == inactive {
			r.active[h] = f
			changed = true
			continue
		}
		a.Value, a.Annotations = f.Value, f.Annotations
		a.KeepSince = time.Time{}
	}
	for h, a := range r.active {
		before := a.State
		if found[h] == nil {
			r.gone(h, a, at)
		} else if a.State == pending && at.Sub(a.ActiveAt) >= r.hold {
			a.State, a.FiredAt = firing, at
		}
		changed = changed || a.State != before
	}
	r.forget(at)
	return changed
}

// forget removes resolved alerts that are sent no more, but for the last ones.
func (r *rule) forget(at time.Time) {
	var old []time.Time
	for _, a := range r.active {
		if a.State == inactive && at.Sub(a.ResolvedAt) > tell {
			old = append(old, a.ResolvedAt)
		}
	}
	if len(old) <= maxResolved {
		return
	}
	slices.SortFunc(old, func(a, b time.Time) int { return b.Compare(a) })
	maps.DeleteFunc(r.active, func(_ uint64, a *alert) bool { return a.State == inactive && a.ResolvedAt.Before(old[maxResolved-1]) })
}

// gone handles an alert whose expression is no longer true.
func (r *rule) gone(h uint64, a *alert, at time.Time) {
	if a.State == firing && r.keep > 0 {
		if a.KeepSince.IsZero() {
			a.KeepSince = at
		}
		if at.Sub(a.KeepSince) < r.keep {
			return
		}
	}
	switch {
	case a.State == pending, a.State == inactive && at.Sub(a.ResolvedAt) > known:
		delete(r.active, h)
	case a.State == firing:
		a.State, a.ResolvedAt, a.KeepSince = inactive, at, time.Time{}
	}
}

// count returns how many alerts are pending and firing.
func (r *rule) count() (waiting, burning int) {
	for _, a := range r.active {
		switch a.State {
		case pending:
			waiting++
		case firing:
			burning++
		}
	}
	return waiting, burning
}

// state returns the worst state of the rule's alerts.
func (r *rule) state() state {
	waiting, burning := r.count()
	switch {
	case burning > 0:
		return firing
	case waiting > 0:
		return pending
	}
	return inactive
}
