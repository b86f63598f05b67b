package reshape

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// fillRing sets the values of one data source in rows of width values. The first row ends at end,
// each row covers span seconds, and row returns the value for the time from start to end.
func fillRing(rows []float64, width, ds int, end, span int64, row func(start, end int64) float64) {
	for k := ds; k < len(rows); k += width {
		rows[k] = row(end-span, end)
		end += span
	}
}

// consolidated returns what an archive remembers after the PDPs until last: the row that is open,
// and the row before it. pdp returns the PDP that begins at start.
func consolidated(a *rra.Archive, step, last int64, pdp func(start int64) float64) rra.CDP {
	last -= last % step
	if a.PDPs == 1 {
		return rra.CDP{Value: math.NaN(), Primary: pdp(last - step)}
	}
	span := a.PDPs * step
	open := last - last%span
	var x rra.CDP
	var missing int64
	x.Primary, missing = gather(a.CF, open-span, open, step, pdp)
	x.Secondary = pdp(open - step)
	switch {
	case float64(missing) > float64(a.PDPs)*a.XFF:
		x.Primary = math.NaN()
	case a.CF == rra.Average:
		x.Primary /= float64(a.PDPs - missing)
	case a.CF == rra.Last:
		x.Primary = x.Secondary
	}
	x.Value, x.Unknown = gather(a.CF, open, last, step, pdp)
	return x
}

// gather adds up the PDPs from start to end as an open row does. It returns the value, and how many
// PDPs are unknown.
func gather(cf rra.CF, start, end, step int64, pdp func(start int64) float64) (value float64, unknown int64) {
	value = emptyValue(cf)
	for t := start; t < end; t += step {
		value, unknown = addPDP(cf, value, unknown, pdp(t))
	}
	return value, unknown
}

// emptyValue is the value of an open row that no PDP has been added to.
func emptyValue(cf rra.CF) float64 {
	switch cf {
	case rra.Average:
		return 0
	case rra.Min:
		return math.Inf(1)
	case rra.Max:
		return math.Inf(-1)
	}
	return math.NaN()
}

// addPDP adds a PDP to the value of an open row, or to its count of unknown PDPs.
func addPDP(cf rra.CF, value float64, unknown int64, pdp float64) (float64, int64) {
	if pdp != pdp {
		return value, unknown + 1
	}
	switch {
	case cf == rra.Average && value == value:
		return value + pdp, unknown
	case cf == rra.Min && value == value:
		return min(value, pdp), unknown
	case cf == rra.Max && value == value:
		return max(value, pdp), unknown
	}
	return pdp, unknown
}
