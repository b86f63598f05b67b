package alerts

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// A Mark is what a rule says of a data source that its expression reads.
type Mark struct {
	Path, DS, Name string
	Threshold      *float64 // with what the expression compares the rows; nil: it does not
	Spans          []Span
}

// A Span says when an alert was pending and fired; the zero time means not yet.
type Span struct{ Since, Fired, Until time.Time }

const (
	maxMarks = 10_000
	maxSpans = 20 // the newest of a mark
)

// Selects calls fn for each metric of the series at paths that one of lists of matchers selects,
// with the index of the list. counter says that the series keeps the rate of the metric.
type Selects func(ctx context.Context, paths []string, lists [][]*labels.Matcher, fn func(list int, path, ds string, ls labels.Labels, counter bool)) error

// Marks returns what the alerting rules say of series, and how many such rules there are. A nil
// Manager has none. Errors are ctx's and the store's.
func (m *Manager) Marks(ctx context.Context, selects Selects, paths []string) (out []Mark, rules int, err error) {
	if m == nil {
		return nil, 0, nil
	}
	var lists [][]*labels.Matcher
	var of []*rule
	var reads []reading
	m.mu.Lock()
	for _, g := range m.groups {
		for _, r := range g.rules {
			if r.alerting {
				rules++
			}
			for _, x := range r.reads {
				lists, reads, of = append(lists, x.matchers), append(reads, x), append(of, r)
			}
		}
	}
	m.mu.Unlock()
	if len(paths) == 0 || len(lists) == 0 {
		return nil, rules, nil
	}
	type place struct {
		rule     *rule
		path, ds string
	}
	marks := make(map[place]int)
	var about []labels.Labels // of each mark
	err = selects(ctx, paths, lists, func(list int, path, ds string, ls labels.Labels, counter bool) {
		at := place{of[list], path, ds}
		k, ok := marks[at]
		if !ok && len(out) == maxMarks {
			return
		}
		if !ok {
			k, marks[at] = len(out), len(out)
			out, about = append(out, Mark{Path: path, DS: ds, Name: of[list].name}), append(about, ls)
		}
		if reads[list].rate == counter && out[k].Threshold == nil {
			out[k].Threshold = reads[list].threshold
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, k := range marks {
		out[k].Spans = at.rule.spans(about[k])
	}
	return out, rules, err
}

// spans returns when the newest alerts of the rule were pending and fired that are about a metric:
// the labels that both have are equal.
func (r *rule) spans(of labels.Labels) (out []Span) {
	for _, a := range r.active {
		same := true
		a.Labels.Range(func(l labels.Label) {
			if v := of.Get(l.Name); v != "" && v != l.Value && r.labels[l.Name] == "" {
				same = false
			}
		})
		if same {
			out = append(out, Span{a.ActiveAt, a.FiredAt, a.ResolvedAt})
		}
	}
	slices.SortFunc(out, func(a, b Span) int { return b.Since.Compare(a.Since) })
	return out[:min(len(out), maxSpans)]
}
