package prom

import (
	"context"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// cfLabel is a label that only selectors have: its value is the consolidation function of the
// archive that answers.
const cfLabel = "__cf__"

// A selector is a selector of a query: what metrics must match.
type selector struct {
	matchers []*labels.Matcher
	forced   bool   // the selector names the consolidation function,
	cf       rra.CF // which is this one
}

func newSelector(ms []*labels.Matcher) (*selector, error) {
	sel := &selector{}
	for _, m := range ms {
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

// matches reports whether a metric is selected.
func (sel *selector) matches(ls labels.Labels) bool {
	for _, m := range sel.matchers {
		if !m.Matches(ls.Get(m.Name)) {
			return false
		}
	}
	return true
}

// A found is a metric that a selector selects.
type found struct {
	ref    core.Ref
	entry  *entry
	metric *metric
}

// find returns the metrics that sel selects.
func (s *Storage) find(ctx context.Context, sel *selector) ([]found, error) {
	var out []found
	for x, err := range s.store.All(ctx) {
		if err != nil {
			return nil, err
		}
		e := s.entryOf(&x)
		for i := range e.metrics {
			if m := &e.metrics[i]; sel.matches(m.labels) {
				out = append(out, found{x.Ref, e, m})
			}
		}
		if len(out) > s.options.MaxSeries {
			return nil, &LimitError{"series", int64(s.options.MaxSeries)}
		}
	}
	return out, nil
}
