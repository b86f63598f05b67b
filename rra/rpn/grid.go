package rpn

import (
	"fmt"
	"math"
	"time"
)

// A Series is the rows of one variable, or of a result. Value i covers the time from Start+i*Step
// (exclusive) to Start+(i+1)*Step (inclusive), in seconds. A Series with a Step of 0 is a constant
// with one value, such as the result of a VDEF.
type Series struct {
	Start, Step int64
	Values      []float64
}

// End returns the time of the last row.
func (s Series) End() int64 { return s.Start + int64(len(s.Values))*s.Step }

// Options are what the result depends on besides the expression and its variables.
type Options struct {
	Now       int64          // NOW
	Location  *time.Location // for LTIME and NEWDAY to NEWYEAR; nil: UTC
	WeekStart time.Weekday   // for NEWWEEK, which in rrdtool depends on LC_TIME
	Work      int            // bound of the work; 0: MaxWork
}

// A column is one evaluation of EvalColumns: the series, and the row that is being evaluated.
type column struct {
	series      []Series
	options     Options
	used        []bool // by series: the expression uses it
	start, step int64  // of the result
	row         int    // index of the row of the result
	at          int64  // time of that row
	previous    float64
	work        int       // work done, of options.Work
	known       []float64 // memory of gather
	shifts      []int     // memory of machine.shifts
}

// grid finds the start and the step of the result, and returns its number of rows.
func (c *column) grid(p *Program) (int, error) {
	if len(c.series) != len(p.vars) {
		return 0, fmt.Errorf("%d series for %d variables", len(c.series), len(p.vars))
	}
	c.used = make([]bool, len(c.series))
	end := int64(math.MaxInt64)
	for i, s := range c.series {
		if c.used[i] = p.Uses(i); !c.used[i] {
			continue
		}
		switch {
		case s.Step < 0 || s.Step == 0 && len(s.Values) != 1:
			return 0, fmt.Errorf("variable %s has a step of %d s and %d values", p.vars[i], s.Step, len(s.Values))
		case s.Step == 0:
			continue
		case c.step == 0:
			c.start = s.Start
		}
		c.start = max(c.start, s.Start)
		c.step = GCD(s.Step, c.step)
		end = min(end, s.End())
	}
	switch {
	case c.step == 0:
		return 0, ErrNoSeries
	case end <= c.start:
		return 0, nil
	case (end-c.start)/c.step > MaxRows:
		return 0, ErrRows
	}
	return int((end - c.start) / c.step), nil
}

// GCD returns the greatest common divisor of two numbers; a if b is 0.
func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// index returns the row of series i that covers the current time.
func (c *column) index(i int) int {
	s := &c.series[i]
	if s.Step == 0 {
		return 0
	}
	return int((c.at - s.Start - 1) / s.Step)
}

// value returns row k of series i; NaN if there is no such row.
func (c *column) value(i, k int) float64 {
	if v := c.series[i].Values; k >= 0 && k < len(v) {
		return v[k]
	}
	return math.NaN()
}

// before returns the row of a series before its current row. If the series has longer rows than the
// result, that is not the row at the time of the previous row of the result.
func (c *column) before(variable int32) float64 {
	i := int(variable)
	if c.series[i].Step == 0 {
		return c.value(i, 0)
	}
	return c.value(i, c.index(i)-1)
}

// special returns the value of an operator without arguments in the current row.
func (c *column) special(o op) float64 {
	switch o {
	case opNow:
		return float64(c.options.Now)
	case opPrev:
		return c.previous
	case opCount:
		return float64(c.row + 1)
	case opTime:
		return float64(c.at)
	case opStepWidth:
		return float64(c.step)
	}
	t := time.Unix(c.at, 0).In(c.options.Location)
	if o == opLocalTime {
		_, offset := t.Zone()
		return float64(c.at + int64(offset))
	}
	year, month, day := t.Date()
	lastYear, lastMonth, lastDay := time.Unix(c.at-c.step, 0).In(c.options.Location).Date()
	switch o { // as in rrdtool, although the day may be the same for steps of a month and more
	case opNewDay:
		return truth(day != lastDay)
	case opNewWeek:
		return truth(day != lastDay && t.Weekday() == c.options.WeekStart)
	case opNewMonth:
		return truth(month != lastMonth)
	}
	return truth(year != lastYear)
}

// look counts n units of work.
func (c *column) look(n int) error {
	if c.work += n; c.work > c.options.Work {
		return ErrWork
	}
	return nil
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
