package prom

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
)

// A found is a metric that a selector selects.
type found struct {
	ref    core.Ref
	entry  *entry
	metric *metric
}

// find returns the metrics that sel selects.
func (q *querier) find(ctx context.Context, sel *selector) ([]found, error) {
	refs, err := q.s.candidates(ctx, sel)
	if err != nil {
		return nil, err
	}
	return q.metricsOf(ctx, sel, refs)
}

func (q *querier) metricsOf(ctx context.Context, sel *selector, refs []core.Ref) ([]found, error) {
	s, u := q.s, access.From(ctx)
	q.metrics += int64(len(refs))
	if err := q.charge(); err != nil {
		return nil, err
	}
	out := make([]found, 0, min(len(refs), s.maxSeries))
	looked := 0
	err := s.entriesOf(ctx, refs, func(ref core.Ref, e *entry) bool {
		if looked++; looked%128 == 0 && ctx.Err() != nil {
			return false
		}
		if !u.Reaches(e.path) {
			return true // renamed meanwhile
		}
		for i := range e.metrics {
			if m := &e.metrics[i]; sel.matches(m) {
				out = append(out, found{ref, e, m})
			}
		}
		return len(out) <= s.maxSeries
	})
	if err = cmp.Or(err, ctx.Err()); err == nil && len(out) > s.maxSeries {
		err = &LimitError{"series", int64(s.maxSeries)}
	}
	return out, err
}

// candidates returns the series that may have metrics which sel selects, in order. They are series
// that the user of ctx reaches.
func (s *Storage) candidates(ctx context.Context, sel *selector) ([]core.Ref, error) {
	queries, err := s.queries(ctx, sel)
	if err != nil {
		return nil, err
	}
	u := access.From(ctx)
	var all []core.Ref
	for i, q := range queries {
		refs, err := core.Refs(ctx, s.store, u.Below(q))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all = refs
		} else {
			all = append(all, refs...)
		}
	}
	more, err := s.others(ctx, sel)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	if !slices.IsSorted(all) {
		slices.Sort(all)
	}
	return slices.Compact(all), nil
}

// queries returns the selections by labels that find the series of all protocols for sel.
func (s *Storage) queries(ctx context.Context, sel *selector) (queries []selection, err error) {
	found, err := s.byScheme(ctx, sel)
	if err != nil {
		return nil, err
	}
	for sch, n := range found {
		if len(n.found) > 0 {
			more, _ := byName(scheme(sch), sel, n.found, n.all)
			queries = append(queries, more...)
		}
	}
	return queries, nil
}

// others returns the series that no protocol names, that the user of ctx reaches and that sel may
// select.
func (s *Storage) others(ctx context.Context, sel *selector) (all []core.Ref, err error) {
	if !s.mayBeOther(sel) {
		return nil, nil
	}
	u := access.From(ctx)
	var more []core.Matcher
	for _, m := range sel.matchers {
		switch {
		case m.Name == "path" && m.Type == labels.MatchEqual && len(s.rules()) == 0:
			if !u.Reaches(m.Value) {
				return nil, nil
			}
			ref, err := s.store.Lookup(m.Value)
			if errors.Is(err, core.ErrNotFound) {
				return nil, nil
			}
			return []core.Ref{ref}, err
		case m.Name == "path", m.Name == "ds", m.Matches(""), strings.Contains(m.Name, "_"), len(s.rules()) > 0:
		default:
			if c, ok := stored(m, m.Name); ok {
				more = append(more, c)
			}
		}
	}
	for _, base := range basesOfOther {
		refs, err := core.Refs(ctx, s.store, u.Below(selection(base).with(more...)))
		if err != nil {
			return nil, err
		}
		all = append(all, refs...)
	}
	return all, nil
}

// mayBeOther reports whether a series that no protocol names may have a metric that sel selects.
func (s *Storage) mayBeOther(sel *selector) bool {
	if sel.mayBe(otherName) || sel.mayBe(counterName(other, otherName)) {
		return true
	}
	for _, r := range s.rules() {
		name := r.Name
		if strings.Contains(name, "$") || sel.mayBe(clean(name)) || sel.mayBe(counterName(other, clean(name))) {
			return true
		}
	}
	return false
}

// Selects calls fn for each metric of the series at paths that one of lists of matchers selects,
// with the index of the list. counter says that the series keeps the rate of the metric. Paths of
// no series are left out. Errors are ctx's and the store's.
func (s *Storage) Selects(ctx context.Context, paths []string, lists [][]*labels.Matcher, fn func(list int, path, ds string, ls labels.Labels, counter bool)) error {
	of := make(map[core.Ref]string)
	for _, p := range paths {
		if ref, err := s.store.Lookup(p); err == nil {
			of[ref] = p
		} else if !errors.Is(err, core.ErrNotFound) {
			return err
		}
	}
	var all []found
	with := make(map[labels.Label][]found) // there may be many lists: each looks at few metrics
	values := make(map[string][]labels.Label)
	err := s.entriesOf(ctx, slices.Sorted(maps.Keys(of)), func(ref core.Ref, e *entry) bool {
		for k := range e.metrics {
			f := found{ref, e, &e.metrics[k]}
			all = append(all, f)
			f.metric.labels.Range(func(l labels.Label) {
				if with[l] = append(with[l], f); len(with[l]) == 1 {
					values[l.Name] = append(values[l.Name], l)
				}
			})
		}
		return true
	})
	for i, ms := range lists {
		some := all
		for _, m := range ms {
			few := with[labels.Label{Name: m.Name, Value: m.Value}]
			if m.Type != labels.MatchEqual {
				few = nil
				for _, l := range values[m.Name] {
					if len(few) < len(some) && m.Matches(l.Value) {
						few = append(few, with[l]...)
					}
				}
			}
			if m.Name != cfLabel && len(few) < len(some) && !m.Matches("") {
				some = few
			}
		}
		if err = cmp.Or(err, ctx.Err()); err != nil || len(some) == 0 {
			continue
		}
		sel, err := newSelector(ms)
		for _, f := range some {
			if err == nil && sel.matches(f.metric) { // a selector that is wrong selects nothing
				fn(i, of[f.ref], f.entry.def.Sources[f.metric.source].Name, f.metric.labels, f.metric.counter)
			}
		}
	}
	return err
}
