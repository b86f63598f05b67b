package prom

import (
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/engine/core"
)

// A selector becomes selections by stored labels, one or more for each scheme. Each finds all
// series that the selector may select, and some others: the labels of each metric are compared
// afterwards.

// opOf returns the comparison of m.
func opOf(m *labels.Matcher) core.MatchOp {
	switch m.Type {
	case labels.MatchNotEqual:
		return core.MatchNotEqual
	case labels.MatchRegexp:
		return core.MatchRegexp
	case labels.MatchNotRegexp:
		return core.MatchNotRegexp
	}
	return core.MatchEqual
}

// stored returns m as a matcher of the stored label name; false if it cannot be one.
func stored(m *labels.Matcher, name string) (core.Matcher, bool) {
	c := core.Matcher{Name: name, Op: opOf(m), Value: m.Value}
	if c.Op == core.MatchRegexp || c.Op == core.MatchNotRegexp {
		re, err := regexp.Compile(whole(m.Value))
		if err != nil {
			return c, false
		}
		c.Regexp = re
	}
	return c, true
}

// oneOf returns a matcher of a label that has one of the values.
func oneOf(name string, values []string) core.Matcher {
	if len(values) == 1 {
		return core.Matcher{Name: name, Value: values[0]}
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return core.Matcher{Name: name, Op: core.MatchRegexp, Regexp: regexp.MustCompile(whole(strings.Join(quoted, "|")))}
}

// A selection is by stored labels.
type selection []core.Matcher

// with returns q and more matchers.
func (q selection) with(ms ...core.Matcher) selection { return append(slices.Clip(q), ms...) }

// translate returns the selections of one scheme for sel; none if no series of it can match.
func translate(sch scheme, sel *selector) []selection {
	queries := []selection{baseOf[sch]}
	for _, m := range sel.matchers {
		if m.Name == model.MetricNameLabel {
			continue
		}
		name, ok := renamed[sch][m.Name]
		switch {
		case sch == asSent:
			name, ok = m.Name, true
		case m.Name == rawLabel:
			continue // no stored label has it
		case ok:
		case sch == collectd:
			queries = translateCollectd(queries, m)
			continue
		case sch == mono && m.Name == "instance" && m.Type == labels.MatchEqual && m.Value != "":
			re := regexp.MustCompile(whole(regexp.QuoteMeta(m.Value) + "(?:#.*)?"))
			queries = each(queries, core.Matcher{Name: "peer", Op: core.MatchRegexp, Regexp: re})
			continue
		case sch == mono && (m.Name == "instance" || m.Name == "process"):
			continue
		case m.Matches(""):
			continue
		default:
			return nil // no series of the scheme has the label
		}
		if c, ok := stored(m, name); ok {
			queries = each(queries, c)
		}
	}
	return queries
}

// translateCollectd adds a matcher of the label type, or of one that is named after a plugin. The
// second holds the plugin instance, or the type instance where there is no plugin instance.
func translateCollectd(queries []selection, m *labels.Matcher) []selection {
	if m.Matches("") {
		return queries
	}
	typed, ok := stored(m, "type_instance")
	if !ok {
		return queries
	}
	if m.Name == "type" {
		return each(queries, typed)
	}
	instance, _ := stored(m, "plugin_instance")
	if len(queries) > 4 {
		return queries
	}
	var out []selection
	for _, q := range queries {
		if !strings.Contains(m.Name, "_") { // else the name may stand for several plugins
			q = q.with(core.Matcher{Name: "plugin", Value: m.Name})
		}
		out = append(out, q.with(instance), q.with(missing("plugin_instance"), typed))
	}
	return out
}

func each(queries []selection, m core.Matcher) []selection {
	out := make([]selection, len(queries))
	for i, q := range queries {
		out[i] = q.with(m)
	}
	return out
}

const (
	maxPairs  = 16  // selections by the first of two labels that make a name
	maxValues = 256 // values of a label in one selection
)

// byName returns the selections of a scheme for sel that find the given combinations; all says that
// these are all combinations of the scheme. The selections may find other combinations, too, unless
// exact.
func byName(sch scheme, sel *selector, found []*combination, all bool) (out []selection, exact bool) {
	queries := translate(sch, sel)
	if all || len(queries) == 0 {
		return queries, true
	}
	names := keyLabels[sch]
	byFirst := make(map[string][]string) // values of the last label, by the value of the first
	for _, c := range found {
		first := ""
		if len(names) > 1 {
			first = c.values[0]
		}
		byFirst[first] = append(byFirst[first], c.values[len(names)-1])
	}
	if len(byFirst) > maxPairs {
		return queries, false
	}
	exact = true
	for first, values := range byFirst {
		slices.Sort(values)
		values = slices.Compact(values)
		for _, q := range queries {
			if len(names) > 1 {
				q = q.with(core.Matcher{Name: names[0], Value: first})
			}
			if exact = exact && len(values) <= maxValues; len(values) <= maxValues {
				q = q.with(oneOf(names[len(names)-1], values))
			}
			out = append(out, q)
		}
	}
	return out, exact
}
