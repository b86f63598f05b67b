package rra

import "slices"

// computeStack is the depth of the stack of most COMPUTE expressions.
const computeStack = 24

// eval returns a PDP of a COMPUTE source. before are the PDPs of the data sources before it.
func (s *source) eval(before []float64) (float64, error) {
	var stack [computeStack]float64
	return s.program.Run(slices.Clone(before), stack[:])
}
