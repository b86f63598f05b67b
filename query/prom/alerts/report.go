package alerts

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// A standing is an alert as a report has it.
type standing struct {
	alert
	rule  *rule
	group string
	since time.Time // it is in this state since then
}

// standings returns the alerts that fire, are pending, or were resolved in the last day, in this
// order, of each the newest first. A nil Manager has none.
func (m *Manager) standings() (all []standing) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	for _, g := range m.groups {
		for _, r := range g.rules {
			for _, a := range r.active {
				x := standing{*a, r, g.name, a.ActiveAt}
				switch a.State {
				case firing:
					x.since = a.FiredAt
				case inactive:
					x.since = a.ResolvedAt
				}
				all = append(all, x)
			}
		}
	}
	m.mu.Unlock()
	place := map[state]int{firing: 1, pending: 2, inactive: 3}
	slices.SortFunc(all, func(a, b standing) int {
		return cmp.Or(cmp.Compare(place[a.State], place[b.State]), b.since.Compare(a.since), labels.Compare(a.Labels, b.Labels))
	})
	return all
}

// Report returns the answer of the RPC's method Alerts to a request with a limit. Errors are ctx's
// and the store's, which the marks alone need. A nil Manager has no alerts.
func (m *Manager) Report(ctx context.Context, selects Selects, req *rondov1.AlertsRequest) (*rondov1.AlertsResponse, error) {
	all := m.standings()
	marks, rules, err := m.marksOf(ctx, selects, req)
	answer := &rondov1.AlertsResponse{NowUs: time.Now().UnixMicro(), Rules: int64(rules), Marks: marks}
	for i := range all {
		a, r := &all[i], all[i].rule
		word := string(a.State)
		switch a.State {
		case firing:
			answer.Firing++
		case pending:
			answer.Pending++
		default:
			answer.Resolved++
			word = "resolved"
		}
		if i >= int(req.GetLimit()) {
			continue
		}
		x := &rondov1.Alert{
			Name: valid(r.name), State: word, SinceUs: a.since.UnixMicro(), Value: a.Value, Group: valid(a.group),
			Expr: valid(r.expr), Compared: valid(r.compared), Threshold: r.threshold, Annotations: textsOf(a.Annotations),
		}
		x.Labels = slices.DeleteFunc(textsOf(a.Labels), func(l *typesv1.Label) bool { return l.GetName() == labels.AlertName })
		answer.Alerts = append(answer.Alerts, x)
	}
	return answer, err
}

func textsOf(ls labels.Labels) (out []*typesv1.Label) {
	ls.Range(func(l labels.Label) { out = append(out, &typesv1.Label{Name: valid(l.Name), Value: valid(l.Value)}) })
	return out
}
