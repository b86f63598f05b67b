package alerts

import (
	"cmp"
	"slices"
	"time"
)

// A Failing is a rule whose last evaluation failed, and why.
type Failing struct{ Group, Rule, Err string }

// A Slow is a group whose last evaluation took longer than its interval, so that others are left
// out.
type Slow struct {
	Group          string
	Took, Interval time.Duration
}

// A Refusing is a receiver of alerts that did not take the last ones, and why. To is its address
// without secrets.
type Refusing struct{ To, Err string }

// Troubles are what goes wrong with rules and alerts now.
type Troubles struct {
	Failing  []Failing
	Slow     []Slow
	Refusing []Refusing
}

// Troubles returns what goes wrong now, rules and groups sorted; a nil Manager has no troubles.
func (m *Manager) Troubles() (out Troubles) {
	if m == nil {
		return out
	}
	for _, s := range m.senders {
		s.mu.Lock()
		if s.err != nil {
			out.Refusing = append(out.Refusing, Refusing{Redacted(s.url), s.err.Error()})
		}
		s.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.groups {
		if g.took > g.interval && (m.turns == nil || g.mine) {
			out.Slow = append(out.Slow, Slow{g.name, g.took, g.interval})
		}
		for _, r := range g.rules {
			if r.err != nil {
				out.Failing = append(out.Failing, Failing{g.name, r.name, r.err.Error()})
			}
		}
	}
	slices.SortFunc(out.Slow, func(a, b Slow) int { return cmp.Compare(a.Group, b.Group) })
	slices.SortFunc(out.Failing, func(a, b Failing) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Rule, b.Rule)) })
	return out
}
