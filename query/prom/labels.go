package prom

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// LabelValues returns the values of a label of the metrics that match ms, sorted.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := make(map[string]bool)
	err := q.each(ctx, ms, func(ls labels.Labels) {
		if v := ls.Get(name); v != "" {
			set[v] = true
		}
	})
	return limited(set, hints), nil, err
}

// LabelNames returns the names of the labels of the metrics that match ms, sorted.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := make(map[string]bool)
	err := q.each(ctx, ms, func(ls labels.Labels) {
		ls.Range(func(l labels.Label) { set[l.Name] = true })
	})
	return limited(set, hints), nil, err
}

func (q *querier) each(ctx context.Context, ms []*labels.Matcher, fn func(labels.Labels)) error {
	sel, err := newSelector(ms)
	if err != nil {
		return err
	}
	all, err := q.s.find(ctx, sel)
	for _, f := range all {
		fn(f.metric.labels)
	}
	return err
}

// limited returns the first names of a set, in order.
func limited(set map[string]bool, hints *storage.LabelHints) []string {
	out := slices.Sorted(maps.Keys(set))
	if hints != nil && hints.Limit > 0 && len(out) > hints.Limit {
		out = out[:hints.Limit]
	}
	return out
}
