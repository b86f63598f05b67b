package chart

import (
	"math"
	"slices"
	"time"
)

// A scale maps values to dot rows, which count from the bottom.
type scale struct {
	lower, upper float64 // in logarithms, if log
	rows         int
	log          bool
	step         float64 // between ticks, in values; of a log scale: the number of decades
	chart        *Chart
}

// slack is the part of half a step by which a value may lie outside of the scale, so that 100.001
// does not double it. It is less than a dot.
const slack = 0.01

// row returns the dot row of a value. It may lie outside. A logarithmic scale has no row for zero
// and what is below.
func (s *scale) row(v float64) (int, bool) {
	if s.log {
		if v <= 0 {
			return 0, false
		}
		v = math.Log10(v)
	}
	r := (v - s.lower) / (s.upper - s.lower) * float64(s.rows-1)
	if math.IsNaN(r) {
		return 0, false
	}
	return int(math.Round(math.Min(math.Max(r, -1e6), 1e6))), true
}

// newScale returns a scale for the values from lowest to highest on so many dot rows, with about
// one tick for each three cells. Limits that were asked for are kept; others move out to a tick.
func newScale(c *Chart, lowest, highest float64, rows, cells int) *scale {
	s := &scale{rows: rows, log: c.Log, chart: c}
	if !(lowest <= highest) { // nothing is known
		lowest, highest = 0, 1
		if c.Log {
			lowest = 0.1
		}
	}
	if c.Log {
		return s.logarithmic(c, lowest, highest, cells)
	}
	if lowest > 0 && lowest < 0.6*highest || c.Stack && lowest > 0 {
		lowest = 0
	}
	if highest < 0 && highest > 0.6*lowest || c.Stack && highest < 0 {
		highest = 0
	}
	lowest, highest = asked(c.Lower, lowest), asked(c.Upper, highest)
	if lowest >= highest { // a constant, or a limit beyond all values
		room := math.Max(math.Abs(highest)*0.1, 1e-12)
		if highest == 0 {
			room = 1
		}
		if c.Upper == nil {
			highest = lowest + room
		}
		if c.Lower == nil && lowest != 0 || lowest >= highest {
			lowest -= room
		}
	}
	s.step = s.nice((highest - lowest) / math.Max(1, float64(cells)/3))
	half := s.step / 2
	s.lower, s.upper = math.Floor(lowest/half+slack)*half, math.Ceil(highest/half-slack)*half
	if c.Lower != nil {
		s.lower = lowest
	}
	if c.Upper != nil {
		s.upper = highest
	}
	return s
}

// asked returns a limit that was asked for; otherwise if none was.
func asked(limit *float64, otherwise float64) float64 {
	if limit != nil {
		return *limit
	}
	return otherwise
}

func (s *scale) logarithmic(c *Chart, lowest, highest float64, cells int) *scale {
	s.lower, s.upper = math.Floor(math.Log10(lowest)+1e-9), math.Ceil(math.Log10(highest)-1e-9)
	if lower := asked(c.Lower, 0); lower > 0 {
		s.lower = math.Log10(lower)
	}
	if upper := asked(c.Upper, 0); upper > 0 {
		s.upper = math.Log10(upper)
	}
	if s.upper <= s.lower {
		s.upper = s.lower + 1
	}
	s.step = math.Max(1, math.Ceil((s.upper-s.lower)/math.Max(1, float64(cells)/2.5)))
	return s
}

// lengths are round numbers of seconds.
var lengths = []float64{60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400}

// nice returns a step of at least the given size whose multiples are round numbers.
func (s *scale) nice(least float64) float64 {
	switch unit := s.chart.Unit; {
	case (s.chart.Binary || unit == "B") && least >= 1:
		return math.Pow(2, math.Ceil(math.Log2(least)-1e-9))
	case unit == "s" && least > 30:
		if i := slices.IndexFunc(lengths, func(l float64) bool { return l >= least*(1-1e-9) }); i >= 0 {
			return lengths[i]
		}
		return 86400 * s.nice(least/86400)
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= least*(1-1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// A tick is a labelled place of an axis.
type tick struct {
	at    int // dot row from the bottom, or dot column
	label string
}

// ticks returns the ticks of the axis, from the bottom up.
func (s *scale) ticks() []tick {
	var out []tick
	if s.log {
		for decade := math.Ceil(s.lower - 1e-9); decade <= s.upper+1e-9; decade += s.step {
			v := math.Pow(10, decade)
			if row, ok := s.row(v); ok {
				out = append(out, tick{row, s.chart.text(s.chart.in(v).Tick(v, v))})
			}
		}
		return out
	}
	scale := s.chart.in(s.lower, s.upper)
	first := math.Ceil(s.lower/s.step - 1e-9)
	for i := range 100 {
		v := (first + float64(i)) * s.step
		if v > s.upper+s.step*1e-9 {
			break
		}
		if row, ok := s.row(v); ok {
			out = append(out, tick{row, s.chart.text(scale.Tick(v, s.step))})
		}
	}
	return out
}

// A grid of times: the seconds between ticks, and how a tick is labelled.
type timeGrid struct {
	step   int64 // seconds; of days and longer the least there can be
	months int   // for steps of months, their number
	format string
	day    string // label of a tick at midnight, or of the first tick of a year; empty: as format
}

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

var timeGrids = slices.Concat(
	gridsOf("15:04:05", "", 1, 2, 5, 10, 15, 30),
	gridsOf("15:04", "Jan 2", minute, 2*minute, 5*minute, 10*minute, 15*minute, 30*minute, hour, 2*hour, 3*hour, 6*hour, 12*hour),
	gridsOf("Jan 2", "", day, 2*day, 7*day, 14*day),
	[]timeGrid{
		{step: 28 * day, months: 1, format: "Jan", day: "2006"},
		{step: 59 * day, months: 2, format: "Jan", day: "2006"},
		{step: 89 * day, months: 3, format: "Jan", day: "2006"},
		{step: 181 * day, months: 6, format: "Jan", day: "2006"},
		{step: 365 * day, months: 12, format: "2006"},
		{step: 2 * 365 * day, months: 24, format: "2006"},
		{step: 5 * 365 * day, months: 60, format: "2006"},
		{step: 10 * 365 * day, months: 120, format: "2006"},
		{step: 50 * 365 * day, months: 600, format: "2006"},
	},
)

// gridsOf returns grids that differ only in their steps.
func gridsOf(format, day string, steps ...int64) (out []timeGrid) {
	for _, step := range steps {
		out = append(out, timeGrid{step: step, format: format, day: day})
	}
	return out
}

// timeTicks returns the ticks of the time axis. Labels of ticks have at least a blank between them
// on an axis of so many cells.
func timeTicks(start, end int64, cells int, location *time.Location) []tick {
	for i := range timeGrids {
		g := &timeGrids[i]
		room := float64(g.step) / float64(end-start) * float64(cells)
		if room < float64(max(len(g.format), len(g.day))+3) && i < len(timeGrids)-1 {
			continue
		}
		return g.ticks(start, end, cells, location)
	}
	return nil
}

func (g *timeGrid) ticks(start, end int64, cells int, location *time.Location) []tick {
	var out []tick
	for at := g.first(start, location); !at.After(time.Unix(end, 0)) && len(out) <= cells; at = g.next(at) {
		if at.Unix() < start {
			continue
		}
		format := g.format
		midnight := at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0
		if g.day != "" && midnight && (g.months == 0 || at.Month() == time.January) {
			format = g.day
		}
		x := int(float64(at.Unix()-start) / float64(end-start) * float64(cells))
		out = append(out, tick{min(x, cells-1), at.Format(format)})
	}
	return out
}

// first returns a tick at or before start.
func (g *timeGrid) first(start int64, location *time.Location) time.Time {
	t := time.Unix(start, 0).In(location)
	year, month, date := t.Date()
	switch {
	case g.months >= 12:
		years := g.months / 12
		return time.Date(year-year%years, 1, 1, 0, 0, 0, 0, location)
	case g.months > 0:
		m := (int(month) - 1) / g.months * g.months
		return time.Date(year, time.Month(m+1), 1, 0, 0, 0, 0, location)
	case g.step >= day:
		// Days are counted from a Monday, so that weeks begin with one.
		days := int(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix()/day) + 3
		return time.Date(year, month, date-days%int(g.step/day), 0, 0, 0, 0, location)
	}
	_, offset := t.Zone()
	local := start + int64(offset)
	return time.Unix(local-local%g.step-int64(offset), 0).In(location)
}

// next returns the tick after another. Days and months follow the calendar, shorter steps the
// clock; steps of several hours stay at the same hours of the day when the clocks change.
func (g *timeGrid) next(at time.Time) time.Time {
	switch {
	case g.months > 0:
		return at.AddDate(0, g.months, 0)
	case g.step >= day:
		return at.AddDate(0, 0, int(g.step/day))
	}
	then := at.Add(time.Duration(g.step) * time.Second)
	_, before := at.Zone()
	_, after := then.Zone()
	if g.step > hour && before != after {
		then = then.Add(time.Duration(before-after) * time.Second)
	}
	return then
}
