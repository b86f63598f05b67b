package rpn

// A machine runs a program: it is a stack, and the values that nodes can read.
type machine struct {
	stack  []float64
	vars   []float64
	column *column // nil: one row, no series
}

func (m *machine) push(v float64) error {
	if len(m.stack) >= MaxStack {
		return ErrOverflow
	}
	m.stack = append(m.stack, v)
	return nil
}
