package reshape

import "github.com/rondo-db/rondo/rra"

// A filling is the work of one Plan.
type filling struct {
	*Series
	sources []*Series
	mapped  []rra.Mapping
	goesOn  bool

	// orders holds what order has returned. It is the same for all data sources of a series.
	orders map[orderOf][]int
}

type orderOf struct {
	from *Series
	asking
}

// order returns which archives of a series create asks, in their order.
func (p *filling) order(from *Series, q asking) []int {
	if known, ok := p.orders[orderOf{from, q}]; ok {
		return known
	}
	var asked []archive
	for i := range from.Definition.Archives {
		if a := &from.Definition.Archives[i]; q.takes(a.CF) {
			asked = append(asked, archive{i, a.CF, a.PDPs * from.Definition.Step, a.Rows})
		}
	}
	q.order(asked)
	out := make([]int, len(asked))
	for i, a := range asked {
		out[i] = a.index
	}
	if p.orders == nil {
		p.orders = map[orderOf][]int{}
	}
	p.orders[orderOf{from, q}] = out
	return out
}

// columns returns the columns that fill a data source, in the order in which they are asked.
func (p *filling) columns(ds int) []column {
	m := p.mapped[ds]
	var out []column
	for i, from := range p.sources {
		if m.Source != 0 && i != m.Source-1 {
			continue
		}
		if k := from.Source(m.Name); k >= 0 {
			out = append(out, column{from, k})
		}
	}
	return out
}
