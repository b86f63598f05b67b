package charts

import (
	"strings"
)

// cook adds a series to the chart of a recipe. It reports false if the recipe has no use for it.
func (b *builder) cook(r *recipe, s *Series, captures []string, base string) bool {
	var lines []Line
	for _, ds := range s.Sources {
		name := ds.Name
		if !r.bySource && len(captures) > 0 {
			name = captures[len(captures)-1]
		}
		if l, ok := r.line(s, ds.Name, name, r.caption(s, name, captures)); ok {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return false
	}
	id := base + "/" + expand(r.key, captures)
	d := b.draft(strings.TrimPrefix(id, "/"), func() *draft {
		c := Chart{
			Title: expand(r.title, captures), Group: r.group, Unit: r.unit, Base: 1000, Lower: none, Upper: none,
			Stack: r.stack, Percent: r.percent,
		}
		if r.base != 0 {
			c.Base = r.base
		}
		if r.from0 || r.to100 {
			c.Lower = 0
		}
		if r.to100 {
			c.Upper = 100
		}
		return &draft{Chart: c, base: base, rank: rankOf(r.group), place: r.place}
	})
	d.Lines = append(d.Lines, lines...)
	return true
}

// caption returns the label of a part that the recipe does not name.
func (r *recipe) caption(s *Series, name string, captures []string) string {
	switch {
	case name == "value" || name == "sum":
		return expand(r.title, captures)
	case len(s.Sources) == 1 || r.bySource || len(captures) == 0:
		return name
	}
	return "" // line makes a label of the name and the data source
}

// line returns the line of a data source, if the recipe has a part for it.
func (r *recipe) line(s *Series, ds, name, caption string) (Line, bool) {
	l := s.line(ds, caption)
	if caption == "" {
		l.Label = name + " " + ds
	}
	if r.style != "" {
		l.Style = r.style
	}
	for i, p := range r.parts {
		if p.name != name && p.name != "" {
			continue
		}
		l.order, l.Color, l.Offset = i, p.color, p.offset
		if p.label != "" {
			l.Label = p.label
		}
		if p.factor != 0 {
			l.Factor = p.factor
		}
		if p.style != "" {
			l.Style = p.style
		}
		return l, true
	}
	l.order = len(r.parts)
	return l, r.open
}
