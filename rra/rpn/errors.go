package rpn

import (
	"errors"
	"fmt"
)

// Errors of Compile.
var (
	ErrEmpty    = errors.New("can not parse an empty rpn expression")
	ErrTooLarge = fmt.Errorf("expression has more than %d nodes", MaxNodes)
)

// Errors of CheckCompute. ErrComputeNow is rondo's own: stored values must not depend on a clock.
var (
	ErrComputeOperator = errors.New("operators TIME LTIME STEPWIDTH PREV NEW* COUNT TREND TRENDNAN PREDICT PREDICTSIGMA PREDICTPERC are not supported with DS COMPUTE")
	ErrComputeConstant = errors.New("constants must be integers in the interval (-32768, 32767)")
	ErrComputeNow      = errors.New("operator NOW is not supported with DS COMPUTE: what is stored may not depend on a clock")
)

// Errors of a running program. Those from ErrPredict on are rondo's own: rrdtool crashes, or has no
// bound.
var (
	ErrUnderflow  = errors.New("RPN stack underflow")
	ErrFinalStack = errors.New("RPN final stack size != 1")
	ErrPercent    = errors.New("percentile argument must be between 0 and 100")
	ErrNoSeries   = errors.New("rpn expressions without DEF or CDEF variables are not supported")
	ErrColumn     = errors.New("VDEF made it into rpn_calc... aborting")
	ErrTrend      = errors.New("malformed trend arguments")
	ErrPredict    = errors.New("malformed predict arguments")
	ErrCount      = errors.New("RPN count is negative")
	ErrOverflow   = fmt.Errorf("RPN stack has more than %d elements", MaxStack)
	ErrRows       = fmt.Errorf("series have more than %d rows at their common step", MaxRows)
	ErrWork       = errors.New("expression takes too long for so many rows")
)

// A SyntaxError says where an expression has an error.
type SyntaxError struct {
	Expr    string
	Offset  int  // in bytes
	Garbage bool // PREV(name) does not end where it should
}

func (e *SyntaxError) Error() string {
	if e.Garbage {
		return fmt.Sprintf("garbage in RPN: '%s'", e.Expr[e.Offset:])
	}
	return fmt.Sprintf("don't understand '%s'", e.Expr[e.Offset:])
}

// A VariableError says that the name in PREV(name) is not a variable's.
type VariableError struct {
	Name   string
	Offset int // in bytes
}

func (e *VariableError) Error() string { return fmt.Sprintf("variable '%s' not found", e.Name) }

// A NodesError says that an expression is too long for a COMPUTE data source.
type NodesError struct {
	Nodes int
}

func (e *NodesError) Error() string {
	return fmt.Sprintf("Maximum %d RPN nodes permitted. Got %d RPN nodes at present.", MaxComputeNodes, e.Nodes)
}
