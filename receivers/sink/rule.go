package sink

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/glob"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A Rule decides how the series that match it are made. The protocol decides what the fields leave
// open that are zero.
type Rule struct {
	// Path is a pattern for the path of a series: "*" matches any text without a slash, "**" any
	// text, "?" one character except a slash. Empty: every path.
	Path string
	// Labels are patterns for labels, by name. "*" matches any text. All must match; a label that
	// the series lacks is an empty text.
	Labels map[string]string
	// Step is the step in seconds.
	Step int64
	// Heartbeat is the heartbeat of all data sources, in seconds.
	Heartbeat int64
	// Archives are written as rrdtool does, "RRA:AVERAGE:0.5:5m:1w".
	Archives []string
	// Sources are written as rrdtool does, "DS:in:COUNTER:600:0:U". They apply to series whose
	// sender does not say what its values are: series that an UPDATE of rrdcached's protocol makes,
	// and series of a receivers.Request that is Untyped.
	Sources []string
	// Expire is the seconds of silence after which a series is dropped; negative: never, whatever
	// its protocol says.
	Expire int64
}

// Below reports whether r may match a path whose first component is name.
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

// The names of the fields of a Rule, in a RuleError and in the configuration file.
const (
	FieldPath      = "path"
	FieldLabels    = "labels"
	FieldStep      = "step"
	FieldHeartbeat = "heartbeat"
	FieldArchives  = "archives"
	FieldSources   = "sources"
	FieldExpire    = "expire"
)

// A RuleError names the rule and the field that is wrong.
type RuleError struct {
	Rule  int // counted from 1
	Field string
	Err   error
}

func (e *RuleError) Error() string { return fmt.Sprintf("rule %d: %s: %v", e.Rule, e.Field, e.Err) }

func (e *RuleError) Unwrap() error { return e.Err }

// A compiled is a Rule whose patterns are compiled.
type compiled struct {
	Rule
	path    *regexp.Regexp // nil: every path
	labels  []labelPattern
	sources []rra.DataSource
}

type labelPattern struct {
	name    string
	pattern *regexp.Regexp
}

// maxExpire is the longest silence in seconds: 250 years, which nanoseconds can count.
const maxExpire = 250 * 366 * 86400

var errNotText = errors.New("is not UTF-8")

// check returns the first field of r that is wrong, and why.
func (r *Rule) check() (field string, err error) {
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
	// Step and heartbeat have the limits that they have in a definition.
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
		if _, err := ParseArchives(max(r.Step, 1), r.Archives); err != nil {
			return FieldArchives, err
		}
	}
	if len(r.Sources) > 0 {
		sources, err := parseSources(r.Sources)
		if err != nil {
			return FieldSources, err
		}
		if len(r.Archives) > 0 { // each is within the limits; both together may not be
			d.Archives, _ = ParseArchives(max(r.Step, 1), r.Archives) // just parsed
			d.Sources = sources
			if err := d.Validate(); err != nil {
				return FieldSources, err
			}
		}
	}
	return "", nil
}

// ParseArchives parses archives for a series with a step in seconds. They are written as rrdtool or
// rra.ParseRetention has them. It parses a whole definition, because archives of the Holt-Winters
// family refer to each other.
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

// parseSources parses data sources, written as rrdtool does.
func parseSources(texts []string) ([]rra.DataSource, error) {
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

// match reports whether r matches the series id.
func (r *compiled) match(id receivers.Identity) bool {
	if r.path != nil && !r.path.MatchString(id.Path) {
		return false
	}
	for _, l := range r.labels {
		if !l.pattern.MatchString(core.LabelValue(id.Labels, l.name)) {
			return false
		}
	}
	return true
}

// lacks returns the labels that r wants and the series id does not have, if r matches its path and
// the labels that it has.
func (r *compiled) lacks(id receivers.Identity) (names []string) {
	if r.path != nil && !r.path.MatchString(id.Path) {
		return nil
	}
	for _, l := range r.labels {
		has := slices.ContainsFunc(id.Labels, func(o core.Label) bool { return o.Name == l.name })
		switch {
		case l.pattern.MatchString(core.LabelValue(id.Labels, l.name)):
		case has:
			return nil
		default:
			names = append(names, l.name)
		}
	}
	return names
}
