package rrdtool

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// noReading is the last reading of a data source that has had none, or whose last one was unknown.
const noReading = "U"

// fillSource takes over the last reading, and what is gathered of the open PDP, from the first series that is in the same step,
// that gives rows, and whose last reading is known. Where there is no such series, nothing is known of the open PDP.
func (p *prefill) fillSource(ds int, columns []column) {
	x := &p.x.Sources[ds]
	*x = rra.SourceSnapshot{LastReading: noReading, Value: math.NaN(), UnknownSec: p.last() % p.d.Step}
	for _, c := range columns {
		if !p.continues(ds, c) || !p.gives(c.from) || c.from.x.Sources[c.ds].LastReading == noReading {
			continue
		}
		p.takeOpen(ds, c, columns)
		return
	}
}

// continueSource takes over the last reading, and what is gathered of the open PDP, of the series that goes on.
func (p *prefill) continueSource(ds int, columns []column) {
	for _, c := range columns {
		if p.continues(ds, c) {
			p.takeOpen(ds, c, columns)
			return
		}
	}
}

// continues says whether a data source goes on where the column has stopped.
func (p *prefill) continues(ds int, c column) bool {
	return c.from.d.Sources[c.ds].Kind == p.d.Sources[ds].Kind && p.sameSlot(c.from, c.from.d.Step)
}

// gives says whether a series has an archive that one of those to be filled takes rows of.
func (p *prefill) gives(from *parts) bool {
	for i := range from.d.Archives {
		cf := from.d.Archives[i].CF
		if cf == rra.Average {
			return true
		}
		for k := range p.d.Archives {
			if p.d.Archives[k].CF == cf {
				return true
			}
		}
	}
	return false
}

// takeOpen takes over the last reading of a column, and what it has gathered of the open PDP. With another step that is computed
// from the mean of what is gathered, and from the rows before it.
func (p *prefill) takeOpen(ds int, c column, columns []column) {
	x := &p.x.Sources[ds]
	old := c.from.x.Sources[c.ds]
	x.LastReading = old.LastReading
	if p.d.Step == c.from.d.Step {
		x.Value, x.UnknownSec = old.Value, old.UnknownSec
		return
	}
	gathered := c.from.last() % c.from.d.Step
	rest := p.last() % p.d.Step
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
		start := p.last() - rest
		v, covered := p.bin(rra.Average, start, start+rest-gathered, p.givers(rra.Average, rest-gathered, columns))
		x.UnknownSec += rest - gathered - covered
		if covered > 0 {
			x.Value += v * float64(covered)
		}
	}
}
