package sink

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/glob"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A Rule says how the series that match it are made. Fields that are zero leave the
// protocol's own choice.
type Rule struct {
	// Path matches the path of a series: "*" any text without a slash, "**" any text,
	// "?" one character but a slash. Empty: every path.
	Path string
	// Labels match labels in the same way, all of them. A label that a series lacks is empty.
	Labels map[string]string
	// Step is in seconds.
	Step int64
	// Heartbeat is in seconds, for all data sources.
	Heartbeat int64
	// Archives are in rrdtool's words, "RRA:AVERAGE:0.5:5m:1w".
	Archives []string
	// Sources are in rrdtool's words, "DS:in:COUNTER:600:0:U". They are for series whose sender
	// does not say what its values are: those made by an UPDATE of rrdcached's protocol.
	Sources []string
	// Expire is the seconds of silence after which a series is dropped; negative: never, whatever
	// its protocol says.
	Expire int64
}

// Below reports whether r may match paths whose first component is name.
func (r *Rule) Below(name string) bool {
	first, rest, more := strings.Cut(r.Path, "/")
	if i := strings.Index(first, "**"); i >= 0 {
		first, rest, more = first[:i]+"**", "", false
	}
	switch {
	case r.Path == "":
		return true
	case more && rest == "":
		return false
	}
	return glob.Path(first).MatchString(name) && (more || strings.HasSuffix(first, "**"))
}

// The fields of a Rule, as a RuleError and the configuration file name them.
const (
	FieldPath      = "path"
	FieldLabels    = "labels"
	FieldStep      = "step"
	FieldHeartbeat = "heartbeat"
	FieldArchives  = "archives"
	FieldSources   = "sources"
	FieldExpire    = "expire"
)

// A RuleError is why a rule was not taken.
type RuleError struct {
	Rule  int // counted from 1
	Field string
	Err   error
}

func (e *RuleError) Error() string { return fmt.Sprintf("rule %d: %s: %v", e.Rule, e.Field, e.Err) }

func (e *RuleError) Unwrap() error { return e.Err }

// A Policy is an ordered list of rules; the first that matches a new series decides.
// A nil Policy has no rules.
type Policy struct {
	rules []rule
	parse ArchiveParser
}

// An ArchiveParser reads archives in rrdtool's words for a series of the given step.
type ArchiveParser func(step int64, texts []string) ([]rra.Archive, error)

type rule struct {
	Rule
	path    *regexp.Regexp // nil: every path
	labels  []labelPattern
	sources []rra.DataSource
}

type labelPattern struct {
	name    string
	pattern *regexp.Regexp
}

// maxExpire is the longest silence, so that it can be counted in nanoseconds: 250 years.
const maxExpire = 250 * 366 * 86400

var errNotText = errors.New("is not UTF-8")

// NewPolicy compiles rules. An error is a *RuleError. A parse of nil is ParseArchives.
func NewPolicy(rules []Rule, parse ArchiveParser) (*Policy, error) {
	if parse == nil {
		parse = ParseArchives
	}
	p := &Policy{parse: parse}
	for i, r := range rules {
		if field, err := r.check(parse); err != nil {
			return nil, &RuleError{i + 1, field, err}
		}
		c := rule{Rule: r}
		c.sources, _ = ParseSources(r.Sources) // check has seen it
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

// check returns the field of r that is wrong, and what is.
func (r *Rule) check(parse ArchiveParser) (field string, err error) {
	if !utf8.ValidString(r.Path) {
		return FieldPath, errNotText
	}
	for name, pattern := range r.Labels {
		if name == "" {
			return FieldLabels, errors.New("a label has no name")
		}
		if !utf8.ValidString(pattern) {
			return FieldLabels, errNotText
		}
	}
	// What a rule may say of step and heartbeat is what a definition may.
	d := receivers.StandardDefinition(1)
	for _, f := range []struct {
		name  string
		value int64
		to    *int64
	}{{FieldStep, r.Step, &d.Step}, {FieldHeartbeat, r.Heartbeat, &d.Sources[0].Heartbeat}} {
		if f.value == 0 {
			continue
		}
		*f.to = f.value
		var bad *rra.FieldError
		if err := d.Validate(); errors.As(err, &bad) {
			return f.name, errors.New(bad.Err)
		}
	}
	if r.Expire > maxExpire {
		return FieldExpire, fmt.Errorf("%d seconds are more than %d", r.Expire, int64(maxExpire))
	}
	if len(r.Archives) > 0 {
		if _, err := parse(max(r.Step, 1), r.Archives); err != nil {
			return FieldArchives, err
		}
	}
	if len(r.Sources) > 0 {
		sources, err := ParseSources(r.Sources)
		if err != nil {
			return FieldSources, err
		}
		if len(r.Archives) > 0 { // each is within the limits; both together may not be
			d.Archives, _ = parse(max(r.Step, 1), r.Archives) // just parsed
			d.Sources = sources
			if err := d.Validate(); err != nil {
				return FieldSources, err
			}
		}
	}
	return "", nil
}

// Match returns the index of the first rule that matches the series id, or -1.
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

// Define returns the definition of the new series id: what define returns, changed by
// the first rule that matches.
func (p *Policy) Define(id receivers.Identity, define func(step int64) *rra.Definition) (*rra.Definition, error) {
	i := p.Match(id)
	if i < 0 {
		return define(0), nil
	}
	r := &p.rules[i]
	d := *define(r.Step)
	if r.Heartbeat > 0 {
		d.Sources = append([]rra.DataSource(nil), d.Sources...)
		for i := range d.Sources {
			d.Sources[i].Heartbeat = r.Heartbeat
		}
	}
	if len(r.Archives) > 0 {
		as, err := p.parse(d.Step, r.Archives)
		if err != nil {
			return nil, &RuleError{i + 1, FieldArchives, fmt.Errorf("for step %d: %w", d.Step, err)}
		}
		d.Archives = as
	}
	return &d, nil
}

// Names reports whether a rule with a pattern for paths is the first that matches the series id:
// one that matches every path is not about series of a name.
func (p *Policy) Names(id receivers.Identity) bool {
	i := p.Match(id)
	return i >= 0 && p.rules[i].path != nil
}

// Sources returns the data sources of the new series id, as the first rule that matches says; nil:
// it says nothing. They are shared: do not change them.
func (p *Policy) Sources(id receivers.Identity) []rra.DataSource {
	i := p.Match(id)
	if i < 0 {
		return nil
	}
	return p.rules[i].sources
}

// Expire returns the silence after which the series id is dropped, as the first rule that matches
// says; 0: it says nothing, negative: never. Unlike the rest of a rule this holds for series that
// are there, too.
func (p *Policy) Expire(id receivers.Identity) time.Duration {
	i := p.Match(id)
	if i < 0 {
		return 0
	}
	return time.Duration(p.rules[i].Expire) * time.Second
}

// ParseArchives reads archives, in rrdtool's words or those of rra.ParseRetention, for a series of
// the given step. A definition as a whole is parsed, because archives of the Holt-Winters family
// refer to each other.
func ParseArchives(step int64, texts []string) ([]rra.Archive, error) {
	for _, s := range texts {
		if !strings.HasPrefix(s, "RRA:") && !rra.IsRetention(s) {
			return nil, fmt.Errorf("%q is no archive, such as RRA:AVERAGE:0.5:5m:1y or 5m for 1y", s)
		}
	}
	d, err := rra.ParseDefinition(step, append([]string{"DS:value:GAUGE:1:U:U"}, texts...))
	if err != nil {
		return nil, err
	}
	return d.Archives, nil
}

// ParseSources reads data sources in rrdtool's words.
func ParseSources(texts []string) ([]rra.DataSource, error) {
	for _, s := range texts {
		if !strings.HasPrefix(s, "DS:") {
			return nil, fmt.Errorf("%q is no data source, which begins with DS:…", s)
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	d, err := rra.ParseDefinition(1, append(slices.Clone(texts), "RRA:AVERAGE:0.5:1:1"))
	if err != nil {
		return nil, err
	}
	return d.Sources, nil
}

func (r *rule) match(id receivers.Identity) bool {
	if r.path != nil && !r.path.MatchString(id.Path) {
		return false
	}
	for _, l := range r.labels {
		if !l.pattern.MatchString(labelValue(id.Labels, l.name)) {
			return false
		}
	}
	return true
}

func labelValue(ls []core.Label, name string) string {
	for _, l := range ls {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Expires says whether any rule speaks of silence.
func (p *Policy) Expires() bool {
	return p != nil && slices.ContainsFunc(p.rules, func(r rule) bool { return r.Rule.Expire > 0 })
}
