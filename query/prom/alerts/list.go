package alerts

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// A Standing says how an alert stands.
type Standing string

// The standings, in the order of List.
const (
	Firing   Standing = "firing"
	Pending  Standing = "pending"
	Resolved Standing = "resolved"
)

// An Alert is an alert as people see it.
type Alert struct {
	Name, Group, Expr   string
	State               Standing
	Since               time.Time // it is in this state since then
	Value               float64   // when the expression was true last
	Labels, Annotations labels.Labels
	Compared            string  // what the expression compares with Threshold; empty: it does not
	Threshold           float64 // a number
}

// List returns the alerts that fire, are pending, or were resolved in the last day, in this order,
// of each the newest first, and how many there are of each. A nil Manager has none.
func (m *Manager) List() (out []Alert, counts map[Standing]int) {
	counts = make(map[Standing]int)
	if m == nil {
		return nil, counts
	}
	order := map[Standing]int{Firing: 1, Pending: 2, Resolved: 3}
	m.mu.Lock()
	for _, g := range m.groups {
		for _, r := range g.rules {
			for _, a := range r.active {
				x := Alert{
					Name: r.name, Group: g.name, Expr: r.expr, Compared: r.compared, Threshold: r.threshold,
					State: Standing(a.State), Since: a.ActiveAt, Value: a.Value, Labels: a.Labels, Annotations: a.Annotations,
				}
				switch a.State {
				case firing:
					x.Since = a.FiredAt
				case inactive:
					x.State, x.Since = Resolved, a.ResolvedAt
				}
				counts[x.State]++
				out = append(out, x)
			}
		}
	}
	m.mu.Unlock()
	slices.SortFunc(out, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(order[a.State], order[b.State]), b.Since.Compare(a.Since), labels.Compare(a.Labels, b.Labels))
	})
	return out, counts
}
