package rpn

import (
	"fmt"
	"math"
	"slices"
)

// window runs the operators over rows of one variable: TREND, PREDICT and their variants. Node i is
// the operator.
//
// The operators find their variable by its place in the expression: two words before TREND, one
// word before PREDICT. Windows count rows of the variable, not of the result. rrdtool mixes the two
// if a variable has longer rows than the result, and then reads before the first row. Here a window
// that begins before the first row is unknown.
func (m *machine) window(p *Program, i int) error {
	if m.column == nil {
		return ErrNoSeries
	}
	if p.nodes[i].op == opTrend || p.nodes[i].op == opTrendNaN {
		return m.trend(p, i)
	}
	return m.predict(p, i)
}

// rowsIn returns how many rows of a series a duration has. It cuts the duration to whole seconds
// and rounds the rows up.
func rowsIn(seconds float64, s *Series) int {
	n := math.Ceil(math.Trunc(seconds) / float64(s.Step))
	if !(n < MaxRows*2) { // NaN too
		return MaxRows * 2
	}
	return int(max(n, -1))
}

// trend runs variable,duration,TREND: it replaces both by the average of the variable's rows of the
// duration that ends with the current row.
func (m *machine) trend(p *Program, i int) error {
	top := len(m.stack) - 2
	if top < 0 {
		return ErrUnderflow
	}
	if i < 2 || p.nodes[i-2].op != opVariable || m.column.series[p.nodes[i-2].variable].Step == 0 {
		return ErrTrend
	}
	c := m.column
	series := &c.series[p.nodes[i-2].variable]
	n := max(rowsIn(m.stack[top+1], series), 1)
	m.stack = m.stack[:top]
	k := c.index(int(p.nodes[i-2].variable))
	if n > k+1 || n > c.row+1 {
		return m.push(math.NaN())
	}
	if err := c.look(n); err != nil {
		return err
	}
	sum, count := 0.0, 0
	for j := k; j > k-n; j-- {
		if v := series.Values[j]; p.nodes[i].op == opTrend || !math.IsNaN(v) {
			sum += v
			count++
		}
	}
	return m.push(sum / float64(count)) // 0/0 if there is none
}

// predict runs shift n,…,shift 1,n,window,[percentile,]variable,PREDICT: it replaces the arguments
// by an average, a deviation or a percentile of the variable's rows in n windows. Each window ends
// the duration of its shift before the current row.
//
// A negative n stands for -n shifts that are 0, 1, 2, … times the one that is given. As in rrdtool,
// a window has one row more than fits into it and reaches one row further back than its shift says,
// and the first two rows of the variable do not count.
func (m *machine) predict(p *Program, i int) error {
	o := p.nodes[i].op
	top := len(m.stack) - 3 // of n
	if o == opPredictPerc {
		top--
	}
	if top < 0 {
		return ErrUnderflow
	}
	if i < 1 || p.nodes[i-1].op != opVariable && p.nodes[i-1].op != opPrevOther || m.column.series[p.nodes[i-1].variable].Step == 0 {
		return ErrPredict
	}
	percentile := m.stack[top+2] // the variable, if not PREDICTPERC
	if o == opPredictPerc && !(percentile >= -100 && percentile <= 100) {
		return fmt.Errorf("unsupported percentile: %f", percentile)
	}
	c := m.column
	v := int(p.nodes[i-1].variable)
	shifts, args, err := m.shifts(top, v)
	if err != nil {
		return err
	}
	window := rowsIn(m.stack[top+1], &c.series[v])
	values, err := c.gather(v, shifts, window)
	if err != nil {
		return err
	}
	m.stack = m.stack[:top-args]
	switch {
	case len(values) == 0:
		return m.push(math.NaN())
	case o == opPredict:
		return m.push(average(values))
	case o == opPredictSigma:
		return m.push(deviation(values))
	}
	return m.push(quantile(values, percentile))
}

// shifts returns the shifts below n, which is element at of the stack, as numbers of rows of series
// i. args is how many elements of the stack they are.
func (m *machine) shifts(at, i int) (rows []int, args int, err error) {
	n := m.stack[at]
	if math.IsNaN(n) || math.Abs(n) > MaxRows {
		return nil, 0, ErrPredict
	}
	count := int(n)
	args = count
	if count < 0 {
		count, args = -count, 1
	}
	if args > at {
		return nil, 0, ErrUnderflow
	}
	if err := m.column.look(count); err != nil {
		return nil, 0, err
	}
	given := m.stack[at-args : at]
	rows = m.column.shifts[:0]
	for j := range count {
		var shift float64
		if n < 0 {
			shift = math.Trunc(given[0] * float64(j))
		} else {
			shift = math.Trunc(given[j])
		}
		if !(shift >= 0) {
			return nil, 0, fmt.Errorf("negative shift step not allowed: %d", toInt32(shift))
		}
		rows = append(rows, rowsIn(shift, &m.column.series[i]))
	}
	m.column.shifts = rows
	return rows, args, nil
}

// toInt32 converts as C does on the processors that rrdtool runs on.
func toInt32(v float64) int32 {
	if !(v > math.MinInt32 && v < math.MaxInt32) {
		return math.MinInt32
	}
	return int32(v)
}

// gather returns the known rows of series i in the windows. The result is valid until the next
// call.
func (c *column) gather(i int, shifts []int, window int) ([]float64, error) {
	k := c.index(i)
	out := c.known[:0]
	for _, shift := range shifts {
		first, last := k-shift+1, max(k-shift-window+1, 2)
		if err := c.look(max(first-last+1, 0)); err != nil {
			return nil, err
		}
		if len(out) > MaxRows {
			return nil, ErrWork
		}
		for row := first; row >= last; row-- {
			if v := c.value(i, row); !math.IsNaN(v) {
				out = append(out, v)
			}
		}
	}
	c.known = out
	return out, nil
}

func average(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// deviation returns the standard deviation of a sample, computed from the sums of the values and of
// their squares.
func deviation(v []float64) float64 {
	if len(v) < 2 {
		return math.NaN()
	}
	n, sum, squares := float64(len(v)), 0.0, 0.0
	for _, x := range v {
		sum += x
		squares += float64(x * x)
	}
	d := float64(n*squares) - float64(sum*sum) // may be below 0 where all are equal
	return math.Sqrt(d / (n * (n - 1)))
}

// quantile returns a percentile of v: interpolated between two values if percentile is positive, or
// the nearest value if it is negative.
func quantile(v []float64, percentile float64) float64 {
	slices.SortFunc(v, order)
	at := float64(len(v)-1) * (math.Abs(percentile) / 100)
	if percentile < 0 {
		return v[int(math.Round(at))]
	}
	i := int(at)
	if i+1 >= len(v) {
		return v[i]
	}
	return v[i] + float64((v[i+1]-v[i])*(at-float64(i)))
}
