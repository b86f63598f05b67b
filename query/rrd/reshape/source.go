package reshape

import (
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// noReading is the last reading of a data source that has never been read, or whose last reading
// was unknown.
const noReading = "U"

// fillSource takes over the last reading and the open PDP from a series that is in the same step
// and has a known last reading. The archives are asked in order: the first that such a series gives
// rows to takes the first series that does. If there is none, the open PDP is unknown.
func (p *filling) fillSource(ds int, columns []column) {
	x := &p.State.Sources[ds]
	*x = rra.SourceSnapshot{LastReading: noReading, Value: math.NaN(), UnknownSec: p.Last() % p.Definition.Step}
	for i := range p.Definition.Archives {
		for _, c := range columns {
			if p.continues(ds, c) && p.gives(c.from, i) && c.from.State.Sources[c.ds].LastReading != noReading {
				p.takeOver(ds, c, columns)
				return
			}
		}
	}
}

// continueSource takes over the last reading and the open PDP of the series that goes on.
func (p *filling) continueSource(ds int, columns []column) {
	for _, c := range columns {
		if p.continues(ds, c) {
			p.takeOver(ds, c, columns)
			return
		}
	}
}

// continues reports whether a data source goes on where the column has stopped.
func (p *filling) continues(ds int, c column) bool {
	return c.from.Definition.Sources[c.ds].Kind == p.Definition.Sources[ds].Kind && p.sameSlot(c.from, c.from.Definition.Step)
}

// gives reports whether a series has an archive that gives rows to archive i of p.
func (p *filling) gives(from *Series, i int) bool {
	return slices.ContainsFunc(from.Definition.Archives, func(a rra.Archive) bool {
		return a.CF == rra.Average || a.CF == p.Definition.Archives[i].CF
	})
}

// takeOver takes over the last reading of a column, and what its open PDP has gathered. If the step
// differs, the open PDP is computed from the mean of what is gathered and from the rows before it.
func (p *filling) takeOver(ds int, c column, columns []column) {
	x := &p.State.Sources[ds]
	old := c.from.State.Sources[c.ds]
	x.LastReading = old.LastReading
	if p.Definition.Step == c.from.Definition.Step {
		x.Value, x.UnknownSec = old.Value, old.UnknownSec
		return
	}
	gathered := c.from.Last() % c.from.Definition.Step
	rest := p.Last() % p.Definition.Step
	mean := math.NaN()
	if known := gathered - old.UnknownSec; known > 0 {
		mean = old.Value / float64(known)
	}
	switch {
	case rest == 0:
		x.Value, x.UnknownSec = 0, 0
	case mean == mean && rest <= gathered && old.UnknownSec == 0:
		x.Value, x.UnknownSec = mean*float64(rest), 0
	case mean == mean && rest > gathered:
		x.Value, x.UnknownSec = old.Value, old.UnknownSec
		start := p.Last() - rest
		v, covered := p.bin(rra.Average, start, start+rest-gathered, p.donors(rra.Average, rest-gathered, columns))
		x.UnknownSec += rest - gathered - covered
		if covered > 0 {
			x.Value += v * float64(covered)
		}
	}
}
