package prom

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/rra"
)

// cfLabel is a label that only selectors have: its value is the consolidation function of the
// archive that answers.
const cfLabel = "__cf__"

// A selector is a selector of a query: what metrics must match.
type selector struct {
	matchers []*labels.Matcher
	names    []*labels.Matcher // the matchers that are about the name
	rates    bool              // it asks for metrics by rateSuffix
	forced   bool              // the selector names the consolidation function,
	cf       rra.CF            // which is this one
}

func newSelector(ms []*labels.Matcher) (*selector, error) {
	sel := &selector{}
	for _, m := range ms {
		if m.Name == model.MetricNameLabel {
			sel.names = append(sel.names, m)
			asks := m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp
			sel.rates = sel.rates || asks && strings.Contains(m.Value, rateSuffix)
		}
		if m.Name != cfLabel {
			sel.matchers = append(sel.matchers, m)
			continue
		}
		cf, err := rra.ParseCF(m.Value)
		if m.Type != labels.MatchEqual || err != nil {
			return nil, fmt.Errorf(`%s: want %s="AVERAGE", "MIN", "MAX" or "LAST"`, m, cfLabel)
		}
		sel.forced, sel.cf = true, cf
	}
	return sel, nil
}

func (sel *selector) matches(x *metric) bool {
	for _, m := range sel.matchers {
		if !m.Matches(x.labels.Get(m.Name)) {
			return false
		}
	}
	return sel.rates || !x.unsent
}

// asks reports whether sel selects a metric by its name.
func (sel *selector) asks(x *metric) bool { return sel.mayBe(x.name()) && (sel.rates || !x.unsent) }

func (sel *selector) mayBe(name string) bool {
	return !slices.ContainsFunc(sel.names, func(m *labels.Matcher) bool { return !m.Matches(name) })
}
