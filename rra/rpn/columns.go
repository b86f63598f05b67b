package rpn

import (
	"math"
	"time"
)

// EvalColumns evaluates the expression as a CDEF does: once for each row, over the time that all
// used series have in common, with the greatest common divisor of their steps as the step. vars are
// the values of the variables given to Compile.
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
