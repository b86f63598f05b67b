package chart

import (
	"slices"
	"time"
)

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
