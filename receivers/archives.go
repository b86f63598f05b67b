package receivers

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// The archives of collectd's rrdtool plugin: for each span AVERAGE, MIN and MAX.
const (
	standardRows = 1200
	standardXFF  = 0.1
)

var standardSpans = [...]int64{3600, 86400, 604800, 2678400, 31622400}

// StandardArchives returns the archives that collectd's rrdtool plugin makes for a step
// of step seconds: 1200 rows or more for each of an hour, a day, a week, a month and a
// year, as AVERAGE, MIN and MAX. It is also what series get where no protocol says.
func StandardArchives(step int64) []rra.Archive {
	as := make([]rra.Archive, 0, 3*len(standardSpans))
	for i, span := range standardSpans {
		span = max(span, standardRows*step)
		pdps := int64(1)
		if i > 0 {
			pdps = span / (standardRows * step)
		}
		rows := (span + pdps*step - 1) / (pdps * step)
		for _, cf := range [...]rra.CF{rra.Average, rra.Min, rra.Max} {
			as = append(as, rra.Archive{CF: cf, XFF: standardXFF, PDPs: pdps, Rows: rows})
		}
	}
	return as
}

// StandardDefinition returns one GAUGE named "value" with collectd's step of 10 seconds, if step is
// 0, a heartbeat of two steps and StandardArchives.
func StandardDefinition(step int64) *rra.Definition {
	if step <= 0 {
		step = 10
	}
	return &rra.Definition{
		Step:     step,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: 2 * step, Min: math.NaN(), Max: math.NaN()}},
		Archives: StandardArchives(step),
	}
}
