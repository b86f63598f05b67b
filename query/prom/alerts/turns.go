package alerts

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
)

// Turns decide which process of several that have the same rules evaluates a group, and keep what
// it knows of the alerts of the group for the next one. Processes need not have the same files.
type Turns interface {
	// Have gives Turns the groups of this process.
	Have(groups []string)
	// Take reports whether this process is to evaluate a group now. state is what was kept last of
	// the group; nil: nothing. It is called before each evaluation.
	Take(ctx context.Context, group string) (mine bool, state []byte, err error)
	// Release lets others evaluate the groups that this process evaluated and has no more.
	Release(ctx context.Context) error
	// Keep keeps the state of a group that this process evaluates.
	Keep(ctx context.Context, group string, state []byte) error
}

// keepTime bounds how long a process that ends tries to keep the state of its groups.
const keepTime = 5 * time.Second

// releaseAgain is the time between two attempts to release groups.
const releaseAgain = 5 * time.Second

// release releases the groups that the files no longer have, until that succeeds or ctx ends.
func (m *Manager) release(ctx context.Context) {
	for {
		err := m.turns.Release(ctx)
		if err == nil || sleep.For(ctx, releaseAgain) != nil {
			return
		}
	}
}

// Share lets several processes take turns. It is called before Run.
func (m *Manager) Share(t Turns) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns, m.over = t, nil
	m.nameTurns(m.groups)
}

// nameTurns names groups for Turns. The name has the file without its folder, so that a group has
// the same name on all nodes. If two groups of this process would then have one name, the name of
// the second one has the folder, too.
func (m *Manager) nameTurns(groups []*group) {
	if m.turns == nil {
		return
	}
	seen := make(map[string]bool)
	var names []string
	for _, g := range groups {
		if g.turn = filepath.Base(g.file) + ";" + g.name; seen[g.turn] {
			g.turn = g.key()
		}
		seen[g.turn] = true
		g.fingerprint = hash(g.turn) // so that all nodes evaluate it for the same times
		names = append(names, g.turn)
	}
	m.turns.Have(names)
}

// turn reports whether this process is to evaluate a group now. If another one evaluates the group,
// or did before, turn takes over the alerts that it has kept. If Turns do not answer, nothing
// changes.
func (m *Manager) turn(ctx context.Context, g *group) bool {
	if m.turns == nil {
		return true
	}
	mine, state, err := m.turns.Take(ctx, g.turn)
	defer m.end()
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		m.warn("it is not known which node is to evaluate a group of rules; it stays as it was", "group", g.name, "evaluated_here", g.mine, "err", err)
		return g.mine
	}
	if !mine || !g.mine && state != nil {
		gone, err := g.replaceAlerts(state, m.Now())
		if mine {
			m.over = append(m.over, m.ended(gone)...)
		}
		if err != nil {
			m.warn("what another node has kept of alerts cannot be read", "group", g.name, "err", err)
		}
	}
	g.kept = g.kept && g.mine && mine
	g.mine = mine
	return mine
}

// replaceAlerts puts what another process has kept in place of the alerts of the group; nil: it has
// kept nothing. It returns the alerts of rules that the group lacks. Manager.mu is held.
func (g *group) replaceAlerts(state []byte, now time.Time) (gone []*alert, err error) {
	rules := make(map[string]*rule)
	for _, r := range g.rules {
		r.err = nil
		clear(r.active)
		if r.alerting {
			rules[r.key()] = r
		}
	}
	if state == nil {
		return nil, nil
	}
	return restore(state, now, func(_, name string) *rule { return rules[name] })
}

// keep keeps the alerts of a group for the next process, if this one evaluates the group.
func (m *Manager) keep(ctx context.Context, g *group) {
	g.keeping.Lock() // what is older must not be kept later
	defer g.keeping.Unlock()
	m.mu.Lock()
	if !g.mine { // nor is it where nobody takes turns
		m.mu.Unlock()
		return
	}
	unsent := m.unsent()
	g.kept, g.unsent = true, len(unsent) > 0
	text, err := stateText([]*group{g}, unsent, m.Now())
	m.mu.Unlock()
	if err == nil {
		err = m.turns.Keep(ctx, g.turn, text)
	}
	if err == nil {
		return
	}
	m.mu.Lock()
	g.kept = false
	m.mu.Unlock()
	if ctx.Err() == nil {
		m.warn("the alerts of a group are not kept for the other nodes", "group", g.name, "err", err)
	}
}

// taken notes that a webhook has taken news: nobody is to send them again, even if this process
// ends before it evaluates their group again.
func (m *Manager) taken(ctx context.Context) {
	m.save()
	m.mu.Lock()
	again := slices.DeleteFunc(slices.Clone(m.groups), func(g *group) bool { return !g.unsent })
	m.mu.Unlock()
	for _, g := range again {
		m.keep(ctx, g)
	}
}

// keepAll keeps the alerts of all groups when the process ends.
func (m *Manager) keepAll() {
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	m.mu.Lock()
	groups := m.groups
	m.mu.Unlock()
	for _, g := range groups {
		m.keep(ctx, g)
	}
}
