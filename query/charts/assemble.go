package charts

import (
	"slices"
	"strings"
)

// Assemble returns the charts of series below prefix. The order of the series does not matter.
func Assemble(prefix string, series []Series) []Chart {
	prefix = strings.Trim(prefix, "/")
	series = slices.Clone(series)
	slices.SortFunc(series, func(a, b Series) int { return strings.Compare(a.Path, b.Path) })
	b := builder{prefix: prefix, drafts: make(map[string]*draft)}
	for i := range series {
		if len(series[i].Sources) > 0 && len(series[i].CFs) > 0 {
			b.add(&series[i])
		}
	}
	b.coresInOne()
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
		units, groups := make(map[string]bool), make(map[string]bool)
		for _, i := range some {
			units[all[i].Unit], groups[all[i].Group] = true, true
		}
		for _, i := range some {
			c := &all[i]
			switch {
			case len(units) == len(some) && !units[""]:
				c.Title += ", in " + c.Unit
			case len(groups) == len(some) && !groups[""]:
				c.Title += ", " + c.Group
			default:
				c.Title += " (" + below(c.ID, prefix) + ")"
			}
		}
	}
}

// add adds the data sources of a series to the charts that they belong to.
func (b *builder) add(s *Series) {
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
