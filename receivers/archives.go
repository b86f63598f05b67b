package receivers

import "github.com/rondo-db/rondo/rra"

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
