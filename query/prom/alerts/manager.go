package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sleep"
)

// A Config configures a Manager. Query, Record and Logger must be set.
type Config struct {
	// Files are the names of files of rules, or patterns.
	Files []string
	// Every is the interval of groups that name none; 0: a minute.
	Every time.Duration
	// Query evaluates an expression at a time.
	Query func(ctx context.Context, expr string, at time.Time) (promql.Vector, error)
	// Record stores the samples of a recording rule. at is a whole multiple of step, which is whole
	// seconds, and no rule records twice for one time.
	Record func(ctx context.Context, at time.Time, step time.Duration, samples []Sample) error
	// Alertmanagers and Webhooks are the addresses that alerts are sent to.
	Alertmanagers, Webhooks []string
	// StateFile keeps the alerts over a restart; empty: they are not kept.
	StateFile string
	// ExternalURL is where people reach the server; nil: nowhere.
	ExternalURL *url.URL
	Logger      *slog.Logger
	// Client sends; nil: one with a timeout of ten seconds.
	Client *http.Client
	// Now is the clock, which may be set at any time; nil: time.Now.
	Now func() time.Time
}

// A Manager evaluates rules. Its methods may be called at the same time.
type Manager struct {
	Config
	senders []*sender
	turns   Turns      // nil: this process evaluates all groups
	saving  sync.Mutex // one writer of the state file at a time; taken before mu
	lines   loglimit.Limit[string]

	mu      sync.Mutex // guards all below
	groups  []*group
	over    []message // that end alerts whose rule is gone, not queued yet
	counts  Counts
	restart context.CancelFunc // ends the evaluation, so that new groups begin; nil: none runs
}

// Counts are counts since the start.
type Counts struct {
	Evaluations, Failures    uint64 // of rules
	Missed                   uint64 // evaluations left out, because the one before took too long
	Late                     uint64 // recorded samples that came after later ones of their series
	Sent, SendFailures, Shed uint64 // alerts, by receiver
	Rules, Pending, Firing   int    // now
}

// New returns a manager of the rules in the files. The error lists every mistake in them, or in an
// address.
func New(c Config) (*Manager, error) {
	if c.Every <= 0 {
		c.Every = time.Minute
	}
	c.Client = cmp.Or(c.Client, &http.Client{Timeout: 10 * time.Second, CheckRedirect: redirect})
	if c.Now == nil {
		c.Now = time.Now
	}
	m := &Manager{Config: c}
	var errs []error
	for _, a := range c.Alertmanagers {
		errs = append(errs, m.addSender(a, true))
	}
	for _, a := range c.Webhooks {
		errs = append(errs, m.addSender(a, false))
	}
	groups, err := parse(c.Files, c.Every)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	m.groups = groups
	gone, err := readState(c.StateFile, groups, c.Now())
	if m.over = m.ended(gone); err != nil {
		c.Logger.Warn("alerts of before the start are forgotten", "file", c.StateFile, "err", err)
	}
	return m, nil
}

// Reload reads the files again. If one has a mistake, the old rules stay.
func (m *Manager) Reload(files []string) error {
	groups, err := parse(files, m.Every)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Files = files
	m.nameTurns(groups)
	m.adopt(groups)
	m.groups = groups
	if m.restart != nil {
		m.restart()
	}
	return nil
}

// adopt takes over the alerts of rules that are still there, and ends the others. Where processes
// take turns, turn does that, for the one whose turn it is.
func (m *Manager) adopt(now []*group) {
	still := alertingRules(now)
	for k, was := range alertingRules(m.groups) {
		if r := still[k]; r != nil {
			r.active = was.active
		} else if m.turns == nil {
			m.over = append(m.over, m.ended(slices.Collect(maps.Values(was.active)))...)
		}
	}
}

// ended ends alerts that nothing evaluates any more, and returns what is to be sent of them.
func (m *Manager) ended(all []*alert) (out []message) {
	now := m.Now()
	for _, a := range all {
		if a.State == firing {
			a.State, a.ResolvedAt = inactive, now
		}
		if _, news := a.due(now); news {
			out = append(out, m.message(a.Labels.Hash(), a, &rule{}, now, true))
		}
	}
	return out
}

// end queues the messages that end alerts.
func (m *Manager) end() {
	m.mu.Lock()
	over := m.over
	m.over = nil
	m.mu.Unlock()
	for _, s := range m.senders {
		s.add(over)
	}
}

// Run evaluates the rules and sends alerts until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, s := range m.senders {
		wg.Go(func() { s.run(ctx) })
	}
	for ctx.Err() == nil {
		m.runGroups(ctx)
	}
	wg.Wait()
	m.save()
	m.keepAll()
}

// runGroups evaluates the groups there are now until ctx ends, or the files are read again.
func (m *Manager) runGroups(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	groups := m.groups
	m.restart = cancel
	m.mu.Unlock()
	m.end() // what the groups before have sent is queued
	var wg sync.WaitGroup
	defer wg.Wait()
	if m.turns != nil {
		wg.Go(func() { m.release(ctx) })
	}
	for _, g := range groups {
		wg.Go(func() { m.runGroup(ctx, g) })
	}
	<-ctx.Done()
}

// runGroup evaluates one group at its interval until ctx ends.
func (m *Manager) runGroup(ctx context.Context, g *group) {
	var last, began time.Time // what the last evaluation was for, and when it began
	for at := g.next(m.Now()); ; at = at.Add(g.interval) {
		if at = m.await(ctx, g, at); ctx.Err() != nil {
			return
		}
		if !last.IsZero() {
			m.pace(g, at.Sub(last), time.Since(began))
		}
		last, began = at, time.Now()
		if m.turn(ctx, g) {
			m.evaluate(ctx, g, at)
		}
	}
}

// await waits until a time, and returns the last time for which the group is due then. The clock
// may be set meanwhile: no wait is longer than the interval.
func (m *Manager) await(ctx context.Context, g *group, at time.Time) time.Time {
	for {
		now := m.Now()
		switch wait := at.Sub(now); {
		case wait > g.interval: // the clock was set back
			at = g.next(now)
		case wait <= 0:
			return g.next(now).Add(-g.interval)
		case sleep.For(ctx, wait) != nil:
			return at
		}
	}
}

// pace compares the time between two evaluations by the clock with the true one. What was left out
// is counted. If the clock was set, the times of the alerts move with it.
func (m *Manager) pace(g *group, clock, truly time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Missed += uint64(max(min(clock/g.interval, truly.Round(g.interval)/g.interval)-1, 0))
	set := clock - truly
	if set.Abs() <= g.interval {
		return
	}
	m.warn("the clock was set", "by", set.Round(time.Second))
	for _, r := range g.rules {
		for _, a := range r.active {
			a.shift(set)
		}
	}
}

// evaluate evaluates the rules of a group for a time, and sends what has become of alerts.
func (m *Manager) evaluate(ctx context.Context, g *group, at time.Time) {
	began := time.Now()
	var out []message
	changed := false
	for _, r := range g.rules {
		began := time.Now()
		more, c, err := m.evaluateRule(ctx, g, r, at)
		if ctx.Err() != nil {
			break
		}
		m.mu.Lock()
		m.counts.Evaluations++
		if r.err = err; err != nil {
			m.counts.Failures++
		}
		r.evaluated, r.took = at, time.Since(began)
		m.mu.Unlock()
		out, changed = append(out, more...), changed || c
		if err != nil {
			m.warn("a rule failed", "group", g.name, "rule", r.name, "err", err)
		}
	}
	m.mu.Lock()
	g.evaluated, g.took = at, time.Since(began)
	changed = changed || m.turns != nil && !g.kept
	m.mu.Unlock()
	for _, s := range m.senders {
		s.add(out)
	}
	if changed || len(out) > 0 {
		m.save()
		m.keep(ctx, g)
	}
}

// evaluateRule evaluates one rule. It returns the alerts that are to be sent.
func (m *Manager) evaluateRule(ctx context.Context, g *group, r *rule, at time.Time) (out []message, changed bool, err error) {
	if !r.alerting {
		return nil, false, m.record(ctx, g, r, at.Add(-g.offset))
	}
	vector, err := m.Query(ctx, r.expr, at.Add(-g.offset))
	if err != nil {
		return nil, false, err
	}
	found, err := r.alerts(ctx, &expander{query: m.Query, external: m.ExternalURL, at: at}, vector)
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil { // the rules were read again: others evaluate now
		return nil, false, ctx.Err()
	}
	if err == nil && g.limit > 0 && len(found) > g.limit {
		out = m.ended(slices.Collect(maps.Values(r.active)))
		clear(r.active)
		err = fmt.Errorf("%d alerts: the limit of the group is %d", len(found), g.limit)
	}
	if err != nil {
		return out, true, err
	}
	changed = r.update(found, at)
	for h, a := range r.active {
		due, news := a.due(at)
		if !due {
			continue
		}
		a.SentAt = at
		out = append(out, m.message(h, a, r, at.Add(missing*max(g.interval, resend)), news))
	}
	return out, changed, nil
}

// record evaluates a recording rule for the end of the last row at a time, and stores the result.
func (m *Manager) record(ctx context.Context, g *group, r *rule, at time.Time) error {
	step := g.step()
	end := time.Unix(at.Unix()-at.Unix()%int64(step/time.Second), 0)
	if end.Equal(r.recordedTo) { // groups may have intervals of less than a second
		return nil
	}
	vector, err := m.Query(ctx, r.expr, end)
	if err != nil {
		return err
	}
	samples, err := r.recorded(vector)
	if err == nil && g.limit > 0 && len(samples) > g.limit {
		err = fmt.Errorf("%d samples: the limit of the group is %d", len(samples), g.limit)
	}
	if err == nil && len(samples) > 0 {
		err = m.Record(ctx, end, step, samples)
	}
	if refused, ok := errors.AsType[*core.RejectedError](err); ok {
		m.mu.Lock()
		m.counts.Late += uint64(refused.Late)
		m.mu.Unlock()
	}
	if err == nil {
		r.recordedTo = end
	}
	return err
}

// warn logs, and not the same again and again.
func (m *Manager) warn(what string, args ...any) {
	if ok, held := m.lines.Allow(fmt.Sprint(what, args), time.Now()); ok {
		m.Logger.Warn(what, append(args, "held_back_lines", held)...)
	}
}

// Counts returns the counts since the start; a nil Manager has none.
func (m *Manager) Counts() Counts {
	if m == nil {
		return Counts{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	for _, g := range m.groups {
		c.Rules += len(g.rules)
		if m.turns != nil && !g.mine {
			continue // the node that evaluates the group counts its alerts
		}
		for _, r := range g.rules {
			w, b := r.count()
			c.Pending += w
			c.Firing += b
		}
	}
	return c
}

// addSender adds a receiver. The address of an Alertmanager is its root's.
func (m *Manager) addSender(address string, manager bool) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is no address of a receiver of alerts: want http://HOST:PORT or https://HOST:PORT", Redacted(address))
	}
	if manager {
		u = u.JoinPath("api/v2/alerts")
	}
	m.senders = append(m.senders, &sender{
		client: m.Client, external: addressOf(m.ExternalURL), warn: m.warn, count: m.count, taken: m.taken,
		url: u.String(), manager: manager, wake: make(chan struct{}, 1),
	})
	return nil
}

// message returns an alert as it is sent. until is when it counts as resolved without news.
func (m *Manager) message(h uint64, a *alert, r *rule, until time.Time, news bool) message {
	out := message{
		fingerprint: h, labels: a.Labels, annotations: a.Annotations, starts: a.FiredAt, ends: until,
		resolved: a.State == inactive, news: news, made: time.Now(),
	}
	if out.resolved {
		out.ends = a.ResolvedAt
	}
	if m.ExternalURL != nil && r.expr != "" {
		out.source = m.ExternalURL.JoinPath("api/v1/query").String() + "?query=" + url.QueryEscape(r.expr)
	}
	return out
}

// count counts alerts by what became of them.
func (m *Manager) count(sent, failed, shed uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Sent += sent
	m.counts.SendFailures += failed
	m.counts.Shed += shed
}
