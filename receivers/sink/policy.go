package sink

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/rondo-db/rondo/internal/glob"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A Policy is an ordered list of rules. The first rule that matches a new series applies. A nil
// Policy has no rules.
type Policy struct {
	rules []compiled
	known known
}

// NewPolicy compiles rules. An error is a *RuleError.
func NewPolicy(rules []Rule) (*Policy, error) {
	p := new(Policy)
	for i, r := range rules {
		if field, err := r.check(); err != nil {
			return nil, &RuleError{i + 1, field, err}
		}
		c := compiled{Rule: r}
		c.sources, _ = parseSources(r.Sources) // check has seen it
		if r.Path != "" {
			c.path = glob.Path(r.Path)
		}
		for name, v := range r.Labels {
			c.labels = append(c.labels, labelPattern{name, glob.Text(v)})
		}
		sort.Slice(c.labels, func(i, j int) bool { return c.labels[i].name < c.labels[j].name })
		p.rules = append(p.rules, c)
	}
	return p, nil
}

// Match returns the index of the first rule that matches the series id; -1: no rule does.
func (p *Policy) Match(id receivers.Identity) int {
	if p == nil {
		return -1
	}
	for i := range p.rules {
		if p.rules[i].match(id) {
			return i
		}
	}
	return -1
}

// A Near is a rule that would apply to a series if the series had some labels that it lacks.
type Near struct {
	Rule   int      // its index
	Labels []string // the names of these labels, sorted
}

// Nearly returns the rules before the first that matches the series id, or all rules if none does,
// which match its path and those labels that it has. Each waits for labels that the series lacks.
func (p *Policy) Nearly(id receivers.Identity) (found []Near) {
	if p == nil {
		return nil
	}
	for i := range p.rules {
		r := &p.rules[i]
		if r.match(id) {
			break
		}
		if lacks := r.lacks(id); len(lacks) > 0 {
			found = append(found, Near{i, lacks})
		}
	}
	return found
}

// Define returns the definition of the new series id: the result of define, changed by the first
// rule that matches. Series whose definitions are equal share one: do not change it.
func (p *Policy) Define(id receivers.Identity, define func(step int64) *rra.Definition) (*rra.Definition, error) {
	return p.DefineRequest(&receivers.Request{Identity: id, Define: define})
}

// DefineRequest is Define for the new series that r asks for.
func (p *Policy) DefineRequest(r *receivers.Request) (*rra.Definition, error) {
	i := p.Match(r.Identity)
	if i < 0 {
		d := r.Define(0)
		if p == nil {
			return d, nil
		}
		return p.known.shared(i, d, func() (*rra.Definition, error) { return d, nil })
	}
	rule := &p.rules[i]
	asked := *r.Define(rule.Step)
	if r.Untyped && len(rule.sources) > 0 {
		asked.Sources = rule.sources
	}
	if len(rule.Archives) > 0 {
		asked.Archives = nil
	}
	return p.known.shared(i, &asked, func() (*rra.Definition, error) { return p.define(i, &asked) })
}

// define returns the definition of a series that rule i matches: what its protocol asked for,
// changed by the rule.
func (p *Policy) define(i int, asked *rra.Definition) (*rra.Definition, error) {
	r, d := &p.rules[i], *asked
	if len(r.Archives) > 0 {
		as, err := ParseArchives(d.Step, r.Archives)
		if err != nil {
			return nil, &RuleError{i + 1, FieldArchives, fmt.Errorf("for step %d: %w", d.Step, err)}
		}
		d.Archives = as
	}
	if r.Heartbeat > 0 {
		d.Sources = slices.Clone(d.Sources)
		for i := range d.Sources {
			d.Sources[i].Heartbeat = r.Heartbeat
		}
	}
	return &d, nil
}

// Names reports whether the first rule that matches the series id has a pattern for paths. A rule
// without one was not written for series of that name.
func (p *Policy) Names(id receivers.Identity) bool {
	i := p.Match(id)
	return i >= 0 && p.rules[i].path != nil
}

// Sources returns the data sources that the first matching rule gives the new series id; nil: it
// gives none. They are shared: do not change them.
func (p *Policy) Sources(id receivers.Identity) []rra.DataSource {
	i := p.Match(id)
	if i < 0 {
		return nil
	}
	return p.rules[i].sources
}

// Expire returns the silence after which the first matching rule drops the series id; 0: the rule
// does not say, negative: never. Unlike the rest of a rule, this also applies to series that exist.
func (p *Policy) Expire(id receivers.Identity) time.Duration {
	i := p.Match(id)
	if i < 0 {
		return 0
	}
	return time.Duration(p.rules[i].Expire) * time.Second
}

// Expires reports whether any rule drops silent series.
func (p *Policy) Expires() bool {
	return p != nil && slices.ContainsFunc(p.rules, func(r compiled) bool { return r.Rule.Expire > 0 })
}
