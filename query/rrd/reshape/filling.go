package reshape

import "github.com/rondo-db/rondo/rra"

// A filling is the work of one Plan.
type filling struct {
	*Series
	sources []*Series
	mapped  []rra.Mapping
	goesOn  bool
}

// columns returns the columns that fill a data source, in the order in which they are asked.
func (p *filling) columns(ds int) []column {
	m := p.mapped[ds]
	var out []column
	for i, from := range p.sources {
		if m.Source > 0 && i != m.Source-1 {
			continue
		}
		if k := from.Source(m.Name); k >= 0 {
			out = append(out, column{from, k})
		}
	}
	return out
}
