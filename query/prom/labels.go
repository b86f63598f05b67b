package prom

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
)

// LabelValues returns the values of a label of the metrics that match ms, sorted. The caller must
// not change them.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	out, err := q.s.listed(ctx, "values\x00"+name, hints, ms, func() ([]string, error) { return q.labelValues(ctx, name, ms) })
	return out, nil, access.From(ctx).Hide(err)
}

func (q *querier) labelValues(ctx context.Context, name string, ms []*labels.Matcher) ([]string, error) {
	c := &collecting{q: q, set: make(map[string]bool)}
	err := c.collect(ctx, ms, func(f *found) { c.add(f.metric.labels.Get(name)) }, func(sel selection, sch scheme, names, raws []string) error {
		if name == rawLabel {
			for _, raw := range raws {
				c.add(raw)
			}
		}
		if name != model.MetricNameLabel {
			return c.values(ctx, sel, sch, name)
		}
		for _, n := range names {
			c.add(n)
		}
		return nil
	})
	return c.inOrder(), err
}

// LabelNames returns the names of the labels of the metrics that match ms, sorted. The caller must
// not change them.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	out, err := q.s.listed(ctx, "names", hints, ms, func() ([]string, error) { return q.labelNames(ctx, ms) })
	return out, nil, access.From(ctx).Hide(err)
}

func (q *querier) labelNames(ctx context.Context, ms []*labels.Matcher) ([]string, error) {
	c := &collecting{q: q, set: make(map[string]bool)}
	err := c.collect(ctx, ms, func(f *found) {
		f.metric.labels.Range(func(l labels.Label) { c.add(l.Name) })
	}, func(sel selection, sch scheme, _, raws []string) error {
		if slices.ContainsFunc(raws, func(raw string) bool { return raw != "" }) {
			c.add(rawLabel)
		}
		return c.names(ctx, sel, sch)
	})
	return c.inOrder(), err
}

// listed returns the list of what for ms, as hints limit it: a list that is kept, or what list
// returns. Nobody may change it. Users who are limited to folders have lists of their own, which
// are not kept.
func (s *Storage) listed(ctx context.Context, what string, hints *storage.LabelHints, ms []*labels.Matcher, list func() ([]string, error)) ([]string, error) {
	t := &s.table
	key := what + listingKey(ms)
	kept := !access.From(ctx).Limited()
	var out []string
	age, has := 0, false
	if kept {
		t.mu.Lock()
		err := s.update(ctx, false)
		out, has = t.listings.kept[key]
		age = t.listings.age
		t.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	var err error
	if !has {
		out, err = list()
	}
	if kept && !has && err == nil {
		t.mu.Lock()
		t.listings.keep(age, key, out)
		t.mu.Unlock()
	}
	if hints != nil && hints.Limit > 0 && len(out) > hints.Limit {
		out = out[:hints.Limit]
	}
	return out, err
}

// listingKey returns matchers as text.
func listingKey(ms []*labels.Matcher) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteByte(0)
		b.WriteString(m.String())
	}
	return b.String()
}

// A collecting collects names or values of labels.
type collecting struct {
	q      *querier
	set    map[string]bool
	sorted []string // further ones, in order where one list is all there is
}

func (c *collecting) add(v string) { c.set[v] = true }

// inOrder returns the names or values in order, each once.
func (c *collecting) inOrder() []string {
	out := slices.AppendSeq(c.sorted, maps.Keys(c.set))
	if !slices.IsSorted(out) {
		slices.Sort(out)
	}
	out = slices.Compact(out)
	if len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	return out
}

// collect calls fromIndex for each selection of stored labels if these show exactly what ms select:
// if ms are about the name only. names are the names of metrics that the selection finds, raws
// their values of rawLabel. collect calls fromMetric for each metric that no index finds.
func (c *collecting) collect(ctx context.Context, ms []*labels.Matcher, fromMetric func(f *found), fromIndex func(sel selection, sch scheme, names, raws []string) error) error {
	sel, err := newSelector(ms)
	if err != nil {
		return err
	}
	if len(sel.names) < len(sel.matchers) {
		refs, err := c.q.s.candidates(ctx, sel)
		if err != nil {
			return err
		}
		return c.metrics(ctx, sel, refs, fromMetric)
	}
	s, u := c.q.s, access.From(ctx)
	found, err := s.ofUser(ctx, u, sel)
	if err != nil {
		return err
	}
	for sch, n := range found {
		if len(n.found) == 0 {
			continue
		}
		var names, raws []string
		for _, x := range n.found {
			for k := range x.metrics {
				if m := &x.metrics[k]; sel.asks(m) {
					names, raws = append(names, m.name()), append(raws, m.labels.Get(rawLabel))
				}
			}
		}
		queries, exact := byName(scheme(sch), sel, n.found, n.all)
		for i := range queries {
			queries[i] = u.Below(queries[i])
		}
		if !exact || n.split {
			if err := c.each(ctx, sel, queries, fromMetric); err != nil {
				return err
			}
			continue
		}
		for _, one := range queries {
			if err := fromIndex(one, scheme(sch), names, raws); err != nil {
				return err
			}
		}
	}
	refs, err := s.others(ctx, sel)
	if err != nil {
		return err
	}
	slices.Sort(refs)
	return c.metrics(ctx, sel, slices.Compact(refs), fromMetric)
}

// each calls fn for each metric that sel selects among the series that queries find.
func (c *collecting) each(ctx context.Context, sel *selector, queries []selection, fn func(f *found)) error {
	for _, one := range queries {
		refs, err := core.Refs(ctx, c.q.s.store, one)
		if err != nil {
			return err
		}
		if err := c.metrics(ctx, sel, refs, fn); err != nil {
			return err
		}
	}
	return nil
}

// metrics calls fn for each metric that sel selects among the metrics of refs.
func (c *collecting) metrics(ctx context.Context, sel *selector, refs []core.Ref, fn func(f *found)) error {
	all, err := c.q.metricsOf(ctx, sel, refs)
	for i := range all {
		fn(&all[i])
	}
	return err
}

// values adds the values of a label of the series of a scheme that sel finds.
func (c *collecting) values(ctx context.Context, sel selection, sch scheme, name string) error {
	stored, ok := renamed[sch][name]
	switch {
	case sch == asSent:
		stored = name
	case sch == mono && (name == "instance" || name == "process"):
		stored = "peer"
	case sch == collectd && name == "type":
		sel, stored = sel.with(present("plugin_instance")), "type_instance"
	case sch == collectd && !ok:
		return c.eachPlugin(ctx, sel, func(sel selection, plugin string) error {
			if cleanLabel(plugin) != name {
				return nil
			}
			if err := c.addValues(ctx, sel, "plugin_instance", nil); err != nil {
				return err
			}
			return c.addValues(ctx, sel.with(missing("plugin_instance")), "type_instance", nil)
		})
	case !ok:
		return nil
	}
	var public func(string) string
	if sch == mono {
		public = func(v string) string {
			address, process := agent(v)
			if name == "process" {
				return process
			}
			return address
		}
	}
	return c.addValues(ctx, sel, stored, public)
}

// addValues adds the values of a stored label, as public returns them; nil: as they are.
func (c *collecting) addValues(ctx context.Context, sel selection, name string, public func(string) string) error {
	values, err := c.q.s.store.Labels(ctx, core.LabelQuery{Name: name, Matchers: sel})
	if public == nil {
		c.sorted = append(c.sorted, values.Texts...)
		return err
	}
	for _, v := range values.Texts {
		c.add(public(v))
	}
	return err
}

// eachPlugin calls fn for each plugin of collectd that sel finds, with the selection of its series.
func (c *collecting) eachPlugin(ctx context.Context, sel selection, fn func(sel selection, plugin string) error) error {
	plugins, err := c.q.s.store.Labels(ctx, core.LabelQuery{Name: "plugin", Matchers: sel})
	if err != nil {
		return err
	}
	for _, p := range plugins.Texts {
		if err := fn(sel.with(core.Matcher{Name: "plugin", Value: p}), p); err != nil {
			return err
		}
	}
	return nil
}

// names adds the names of labels of the series of a scheme that sel finds.
func (c *collecting) names(ctx context.Context, sel selection, sch scheme) error {
	c.add(model.MetricNameLabel)
	s := c.q.s.store
	if sch == asSent {
		names, err := s.Labels(ctx, core.LabelQuery{Matchers: sel})
		for _, name := range names.Texts {
			c.add(name)
		}
		return err
	}
	// carried adds name if a series has a stored label.
	carried := func(sel selection, stored, name string) error {
		values, err := s.Labels(ctx, core.LabelQuery{Name: stored, Matchers: sel, Most: 1})
		if len(values.Texts) > 0 {
			c.add(name)
		}
		return err
	}
	for name, stored := range renamed[sch] {
		if err := carried(sel, stored, name); err != nil {
			return err
		}
	}
	switch sch {
	case mono:
		c.add("instance")
		c.add("process")
	case collectd:
		if err := carried(sel.with(present("plugin_instance")), "type_instance", "type"); err != nil {
			return err
		}
		return c.eachPlugin(ctx, sel, func(sel selection, plugin string) error {
			if err := carried(sel, "plugin_instance", cleanLabel(plugin)); err != nil {
				return err
			}
			return carried(sel.with(missing("plugin_instance")), "type_instance", cleanLabel(plugin))
		})
	}
	return nil
}
