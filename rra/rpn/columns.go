package rpn

import "math"

// A column is the place of one row in its series.
type column struct{}

func (c *column) special(n *node) float64 { return math.NaN() }

func (m *machine) window(o op) error { return ErrColumn }
