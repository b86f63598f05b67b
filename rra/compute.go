package rra

import (
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/rra/rpn"
)

// computeStack is room for the stack of most COMPUTE expressions.
const computeStack = 24

// compileProgram compiles the expression of COMPUTE data source i. names are those of all sources:
// the programs of a machine share them.
func (d *Definition) compileProgram(i int, names []string) (*rpn.Program, error) {
	p, err := rpn.Compile(d.Sources[i].Expr, names[:i:i])
	if err == nil {
		err = p.CheckCompute()
	}
	if err != nil {
		return nil, &FieldError{fmt.Sprintf("ds[%d].expr", i), err.Error()}
	}
	return p, nil
}

// eval computes a PDP from those of the data sources before it.
func (s *source) eval(before []float64) (float64, error) {
	var stack [computeStack]float64
	return s.program.Run(slices.Clone(before), stack[:])
}
