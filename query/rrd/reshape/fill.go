package reshape

import (
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Plan says how a series is made from others.
type Plan struct {
	Path       string
	Name       string // decides in which step seasons are smoothed
	Labels     []core.Label
	Definition *rra.Definition
	Last       rra.Time  // when the new series was last updated
	From       []*Series // give rows
	// Mapped returns, for each data source, the series and the data source that fill it. Where a
	// mapping names no series, every series that has a data source of that name fills it, in their
	// order.
	Mapped []rra.Mapping
	// GoesOn says that the new series is the old one in another shape: rows that an archive already
	// has stay, unknown ones too, and the open PDP gives a row (rondo's alter). Otherwise the
	// series is filled as rrdtool's create --source does.
	GoesOn bool
}

// Fill makes the series. An error says that the definition is not valid.
func (p *Plan) Fill() (core.Copy, error) {
	m, err := rra.Compile(p.Definition)
	if err != nil {
		return core.Copy{}, err
	}
	empty := core.Copy{Path: p.Path, Labels: p.Labels, Definition: p.Definition, State: m.NewState(p.Last), Rows: make([][]float64, len(p.Definition.Archives))}
	m.SmoothBy(empty.State.W, rra.NameHash(p.Name))
	s, err := Apart(empty)
	if err != nil {
		return core.Copy{}, err
	}
	s.State.LastUpdate = p.Last
	f := &filling{Series: s, sources: p.From, mapped: p.Mapped, goesOn: p.GoesOn}
	f.fill()
	return s.Copy()
}

// fill fills all data sources.
func (p *filling) fill() {
	for ds := range p.Definition.Sources {
		columns := p.columns(ds)
		if p.goesOn {
			p.continueSource(ds, columns)
		} else {
			p.fillSource(ds, columns)
		}
		for i := range p.Definition.Archives {
			if p.Definition.Archives[i].CF <= rra.Last {
				p.fillRows(i, ds, columns)
				p.fillCDP(i, ds, columns)
			} else {
				p.fillModel(i, ds, columns)
			}
		}
	}
}
