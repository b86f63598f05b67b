package rpn

import (
	"fmt"
	"math"
	"time"
)

// Bounds of EvalColumns.
const (
	MaxRows = 1 << 22 // rows of a result
	MaxWork = 1 << 27 // nodes run, elements counted off and rows looked at by windows
)

// A Series is rows of one variable, or of a result. Value i is that of the time
// from Start+i*Step (exclusive) to Start+(i+1)*Step (inclusive), in seconds. A
// Step of 0 makes it a constant, its only value: what a VDEF gives.
type Series struct {
	Start, Step int64
	Values      []float64
}

// End returns the time of the last row.
func (s Series) End() int64 { return s.Start + int64(len(s.Values))*s.Step }

// Options say what an expression cannot know of itself.
type Options struct {
	Now       int64          // NOW
	Location  *time.Location // for LTIME and NEWDAY to NEWYEAR; nil: UTC
	WeekStart time.Weekday   // for NEWWEEK, which in rrdtool depends on LC_TIME
	Work      int            // bound of what may be done; 0: MaxWork
}

// EvalColumns evaluates the expression as a CDEF: once a row, over the time
// that all series in use have in common, at the greatest common divisor of their
// steps. vars are the variables given to Compile.
func (p *Program) EvalColumns(vars []Series, o Options) (Series, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Work == 0 {
		o.Work = MaxWork
	}
	c := &column{series: vars, options: o, previous: math.NaN()}
	rows, err := c.grid(p)
	if err != nil {
		return Series{}, err
	}
	out := Series{Start: c.start, Step: c.step, Values: make([]float64, 0, rows)}
	m := machine{stack: make([]float64, 0, p.stack), vars: make([]float64, len(vars)), column: c}
	for c.row = range rows {
		c.at = c.start + int64(c.row+1)*c.step
		for i := range vars {
			if c.used[i] {
				m.vars[i] = c.value(i, c.index(i))
			}
		}
		m.stack = m.stack[:0]
		if err := c.look(len(p.nodes)); err != nil {
			return Series{}, err
		}
		if c.previous, err = m.run(p); err != nil {
			return Series{}, err
		}
		out.Values = append(out.Values, c.previous)
	}
	return out, nil
}

// A column is the place of one row among the series.
type column struct {
	series      []Series
	options     Options
	used        []bool
	start, step int64
	row         int
	at          int64   // its time
	previous    float64 // result of the row before
	work        int     // of options.Work
	known       []float64
	shifts      []int
}

// grid finds the common start and step and returns how many rows there are.
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
		c.step = gcd(s.Step, c.step)
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

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// index returns which row of series i holds the current time.
func (c *column) index(i int) int {
	s := &c.series[i]
	if s.Step == 0 {
		return 0
	}
	return int((c.at - s.Start - 1) / s.Step)
}

// value returns row k of series i, NaN where it has none.
func (c *column) value(i, k int) float64 {
	if v := c.series[i].Values; k >= 0 && k < len(v) {
		return v[k]
	}
	return math.NaN()
}

// before returns the row before the current one of a series, which is another
// than the one before in time where the series is coarser than the result.
func (c *column) before(variable int32) float64 {
	i := int(variable)
	if c.series[i].Step == 0 {
		return c.value(i, 0)
	}
	return c.value(i, c.index(i)-1)
}

// special returns what an operator without arguments stands for in this row.
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
	switch o { // sic: for steps of a month and more the day may be the same
	case opNewDay:
		return truth(day != lastDay)
	case opNewWeek:
		return truth(day != lastDay && t.Weekday() == c.options.WeekStart)
	case opNewMonth:
		return truth(month != lastMonth)
	}
	return truth(year != lastYear)
}
