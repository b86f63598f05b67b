package rpn

import "math"

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
	if v := m.stack; o.unary() {
		if top < 0 {
			return ErrUnderflow
		}
		v[top] = unary(o, v[top])
		return nil
	}
	if o == opIf || o == opLimit {
		if top < 2 {
			return ErrUnderflow
		}
		v := m.stack[top-2:]
		m.stack = m.stack[:top-1]
		if o == opIf {
			if v[0] != 0 && !math.IsNaN(v[0]) {
				v[0] = v[1]
			} else {
				v[0] = v[2]
			}
		} else if !(v[0] >= v[1] && v[0] <= v[2]) {
			v[0] = math.NaN()
		}
		return nil
	}
	if top < 1 {
		return ErrUnderflow
	}
	m.stack[top-1] = binary(o, m.stack[top-1], m.stack[top])
	m.stack = m.stack[:top]
	return nil
}

func (o op) unary() bool {
	switch o {
	case opSin, opCos, opAtan, opSqrt, opLog, opExp, opFloor, opCeil, opRound, opAbs, opRad2Deg, opDeg2Rad, opUn, opIsInf:
		return true
	}
	return false
}

func unary(o op, v float64) float64 {
	switch o {
	case opSin:
		return math.Sin(v)
	case opCos:
		return math.Cos(v)
	case opAtan:
		return math.Atan(v)
	case opSqrt:
		return math.Sqrt(v)
	case opLog:
		return math.Log(v)
	case opExp:
		return math.Exp(v)
	case opFloor:
		return math.Floor(v)
	case opCeil:
		return math.Ceil(v)
	case opRound:
		return math.Round(v)
	case opAbs:
		return math.Abs(v)
	case opRad2Deg:
		return v * 57.29577951
	case opDeg2Rad:
		return v * 0.0174532952
	case opUn:
		return truth(math.IsNaN(v))
	}
	return truth(math.IsInf(v, 0))
}

func binary(o op, a, b float64) float64 {
	switch o {
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return a * b
	case opDiv:
		return a / b
	case opMod:
		return math.Mod(a, b)
	case opPow:
		return math.Pow(a, b)
	case opAtan2:
		return math.Atan2(a, b)
	case opMinNaN, opMaxNaN, opAddNaN:
		switch {
		case math.IsNaN(a):
			return b
		case math.IsNaN(b):
			return a
		}
	default:
		if math.IsNaN(a) || math.IsNaN(b) {
			return math.NaN()
		}
	}
	switch o {
	case opAddNaN:
		return a + b
	case opMin, opMinNaN:
		if a > b {
			return b
		}
		return a
	case opMax, opMaxNaN:
		if a < b {
			return b
		}
		return a
	case opLT:
		return truth(a < b)
	case opLE:
		return truth(a <= b)
	case opGT:
		return truth(a > b)
	case opGE:
		return truth(a >= b)
	case opEQ:
		return truth(a == b)
	}
	return truth(a != b)
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
