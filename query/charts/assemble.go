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
