package reshape

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// bin consolidates what donors know of the time from start to end. Each second counts once, for the
// first donor that knows it. bin returns the value, and how many seconds are known.
//
// For create it computes as rrdtool does, to the last bit: an average is a sum of shares of the
// row, even if a single row covers it, and LAST is the row that was asked for last. For alter a row
// that covers the whole time keeps its value, and LAST is the latest row.
func (p *filling) bin(cf rra.CF, start, end int64, from []donor) (float64, int64) {
	var (
		out     = math.NaN()
		newest  int64
		free    = []interval{{start, end}}
		span    = float64(end - start)
		covered int64
	)
	share := func(v float64, seconds int64) float64 {
		if p.goesOn {
			return float64(v * float64(seconds))
		}
		return float64(float64(v/span) * float64(seconds))
	}
	for i := range from {
		d := &from[i]
		if len(free) == 0 {
			break
		}
		for t := d.from(start); t < min(end, d.newest); t += d.span {
			v := d.at(t)
			if t+d.span <= start || v != v {
				continue
			}
			var seconds int64
			if free, seconds = cutOut(free, t, t+d.span); seconds == 0 {
				continue
			}
			if seconds == end-start && p.goesOn {
				return v, seconds
			}
			switch {
			case cf == rra.Average && covered == 0:
				out = share(v, seconds)
			case cf == rra.Average:
				out += share(v, seconds)
			case covered == 0:
				out = v
			case cf == rra.Min:
				out = min(out, v)
			case cf == rra.Max:
				out = max(out, v)
			case t >= newest || !p.goesOn:
				out = v
			}
			newest = max(newest, t)
			covered += seconds
		}
	}
	if cf == rra.Average && covered > 0 {
		if out /= float64(covered); !p.goesOn {
			out = float64(out * span)
		}
	}
	return out, covered
}

// An interval is the time from start to end.
type interval struct{ start, end int64 }

// cutOut removes the time from start to end from free. It returns what is left, and how many
// seconds it has removed.
func cutOut(free []interval, start, end int64) ([]interval, int64) {
	var out []interval
	var seconds int64
	for _, f := range free {
		a, b := max(f.start, start), min(f.end, end)
		if a >= b {
			out = append(out, f)
			continue
		}
		seconds += b - a
		if f.start < a {
			out = append(out, interval{f.start, a})
		}
		if b < f.end {
			out = append(out, interval{b, f.end})
		}
	}
	return out, seconds
}
