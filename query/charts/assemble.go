package charts

import (
	"cmp"
	"slices"
	"strings"
)

// Assemble returns the charts of series below prefix, or below folders of their own. The order of
// the series does not matter.
func Assemble(prefix string, series []Series) []Chart {
	prefix = strings.Trim(prefix, "/")
	series = slices.Clone(series)
	slices.SortFunc(series, func(a, b Series) int { return strings.Compare(a.Path, b.Path) })
	b := builder{drafts: make(map[string]*draft)}
	for i := range series {
		if len(series[i].Sources) > 0 && len(series[i].CFs) > 0 {
			b.folder = cmp.Or(series[i].Folder, prefix)
			b.add(&series[i])
		}
	}
	b.coresInOne()
	b.distinguish()
	var out []Chart
	for _, d := range b.sorted() {
		out = append(out, d.charts()...)
	}
	tellApart(out, prefix)
	return out
}

// tellApart gives charts of one title other titles: with their units if these differ, or else their
// groups, or else what their IDs have behind the prefix.
func tellApart(all []Chart, prefix string) {
	places := make(map[string][]int)
	for i := range all {
		places[all[i].Title] = append(places[all[i].Title], i)
	}
	for _, some := range places {
		if len(some) == 1 {
			continue
		}
		units, groups, senders := make(map[string]bool), make(map[string]bool), make(map[string]bool)
		for _, i := range some {
			units[all[i].Unit], groups[all[i].Group], senders[all[i].sender()] = true, true, true
		}
		for _, i := range some {
			c := &all[i]
			switch {
			case len(units) == len(some) && !units[""]:
				c.Title += ", in " + c.Unit
			case len(groups) == len(some) && !groups[""]:
				c.Title += ", " + c.Group
			case len(senders) == len(some):
				c.Title += ", " + c.sender()
			default:
				c.Title += " (" + below(c.ID, prefix) + ")"
			}
		}
	}
}

// sender returns the first name of a chart's ID.
func (c *Chart) sender() string {
	first, _, _ := strings.Cut(c.ID, "/")
	return first
}

// add adds the data sources of a series to the charts that they belong to.
func (b *builder) add(s *Series) {
	if b.metric(s) {
		return
	}
	for i := range recipes {
		r := &recipes[i]
		captures, base, ok := r.match(s.Path)
		if !ok || !r.sentBy(s) {
			continue
		}
		if b.cook(r, s, captures, base) {
			return
		}
	}
	b.plain(s)
}

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

// manyCores is the most cores whose charts stand among the other charts of a host.
const manyCores = 4

// coresInOne gives hosts with many cores one chart of how busy each is, and puts the charts of each
// core behind all others.
func (b *builder) coresInOne() {
	hosts := make(map[string][]*draft)
	for _, d := range b.sorted() {
		if d.Group == "CPU" && d.Stack && isCore(d.ID) {
			hosts[d.base] = append(hosts[d.base], d)
		}
	}
	for base, cores := range hosts {
		if len(cores) <= manyCores {
			continue
		}
		busy := &draft{base: base, rank: rankOf("CPU"), Chart: Chart{
			Title: "Busy cores", Group: "CPU", Unit: "%", Base: 1000, Lower: 0, Upper: 100,
		}}
		for i, d := range cores {
			d.Group, d.rank = groupCores, rankOf(groupCores)
			for _, l := range d.Lines {
				if l.Label != "Idle" {
					continue
				}
				l.Label = d.ID[strings.LastIndexByte(d.ID, '-')+1:]
				l.Factor, l.Offset, l.Style, l.Color, l.order = -1, 100, styleLine, "", i
				busy.Lines = append(busy.Lines, l)
			}
		}
		if len(busy.Lines) > 0 {
			b.draft(strings.TrimPrefix(base+"/cpu-busy", "/"), func() *draft { return busy })
		}
	}
}

// isCore reports whether the ID of a chart belongs to a core: it ends in cpu- and a number.
func isCore(id string) bool {
	n, ok := strings.CutPrefix(id[strings.LastIndexByte(id, '/')+1:], "cpu-")
	return ok && n != "" && leading(n) == len(n)
}
