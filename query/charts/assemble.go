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
	return out
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
