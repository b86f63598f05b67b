package rpn

import (
	"math"
	"time"
)

// Run evaluates one row. vars are the values of the variables given to Compile. stack is working
// memory: Run allocates if it has room for fewer than [Program.StackSize] elements.
func (p *Program) Run(vars, stack []float64) (float64, error) {
	m := machine{stack: stack[:0], vars: vars}
	return m.run(p)
}

func (m *machine) run(p *Program) (float64, error) {
	for i := range p.nodes {
		if err := m.step(p, i); err != nil {
			return 0, err
		}
	}
	if len(m.stack) != 1 {
		return 0, ErrFinalStack
	}
	return m.stack[0], nil
}

func (m *machine) step(p *Program, i int) error {
	n := &p.nodes[i]
	switch {
	case n.op == opNumber:
		return m.push(n.number)
	case n.op == opVariable:
		return m.push(m.vars[n.variable])
	case n.op >= opTrend:
		return m.window(p, i)
	case n.op >= opSort:
		return m.set(n.op)
	case n.op >= opDup:
		return m.shuffle(n.op)
	case n.op >= opUnknown || n.op == opPrevOther:
		return m.special(n)
	}
	return m.arithmetic(n.op)
}

// arithmetic runs the operators that replace one to three elements by one.
func (m *machine) arithmetic(o op) error {
	top := len(m.stack) - 1
	if f := table[o].binary; f != nil {
		if top < 1 {
			return ErrUnderflow
		}
		m.stack[top-1] = f(m.stack[top-1], m.stack[top])
		m.stack = m.stack[:top]
		return nil
	}
	if f := table[o].unary; f != nil {
		if top < 0 {
			return ErrUnderflow
		}
		m.stack[top] = f(m.stack[top])
		return nil
	}
	if top < 2 {
		return ErrUnderflow
	}
	v := m.stack[top-2:]
	m.stack = m.stack[:top-1]
	switch {
	case o == opLimit:
		if !(v[0] >= v[1] && v[0] <= v[2]) {
			v[0] = math.NaN()
		}
	case v[0] != 0 && !math.IsNaN(v[0]):
		v[0] = v[1]
	default:
		v[0] = v[2]
	}
	return nil
}

// special runs the operators that push a value that is not in the expression.
func (m *machine) special(n *node) error {
	switch n.op {
	case opUnknown:
		return m.push(math.NaN())
	case opInf:
		return m.push(math.Inf(1))
	case opNegInf:
		return m.push(math.Inf(-1))
	case opPrevOther:
		if m.column == nil {
			return ErrColumn
		}
		return m.push(m.column.before(n.variable))
	}
	if m.column == nil {
		return ErrNoSeries
	}
	return m.push(m.column.special(n.op))
}

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
