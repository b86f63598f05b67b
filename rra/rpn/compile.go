package rpn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A node is one instruction.
type node struct {
	op       op
	variable int32   // opVariable, opPrevOther: index into vars
	number   float64 // opNumber
	offset   int32   // offset of the word in the expression, in bytes
}

// isShort reports whether the number is a 16-bit integer.
func (n node) isShort() bool {
	return n.number == math.Trunc(n.number) && n.number >= math.MinInt16 && n.number <= math.MaxInt16
}

// A Program is a compiled expression.
type Program struct {
	expr  string
	vars  []string
	nodes []node
	stack int
}

// Compile compiles an expression over the variables vars. The program keeps vars, which must not
// change. As in rrdtool, a name that is also a number or an operator is read as that; a number must
// be followed by a comma, so the last word of an expression is never a number; and one comma at the
// end is allowed.
//
// The error is a *[SyntaxError], a *[VariableError], [ErrEmpty] or [ErrTooLarge].
func Compile(expr string, vars []string) (*Program, error) {
	if expr == "" {
		return nil, ErrEmpty
	}
	index := make(map[string]int32, len(vars))
	for i := len(vars) - 1; i >= 0; i-- {
		index[vars[i]] = int32(i)
	}
	delete(index, "") // rrdtool lets a DEF have no name, but no word means it
	p := &Program{expr: expr, vars: vars}
	for i := 0; i < len(expr); {
		if len(p.nodes) == MaxNodes {
			return nil, ErrTooLarge
		}
		word, more := expr[i:], false
		if k := strings.IndexByte(word, ','); k >= 0 {
			word, more = word[:k], true
		}
		n, ok := compileWord(word, more, index)
		if name, isPrev := strings.CutPrefix(word, "PREV("); !ok && isPrev {
			var err error
			if n, err = compilePrev(expr, i, name, more, index); err != nil {
				return nil, err
			}
		} else if !ok {
			return nil, &SyntaxError{Expr: expr, Offset: i}
		}
		n.offset = int32(i)
		p.nodes = append(p.nodes, n)
		i += len(word) + 1
	}
	p.stack = p.bound()
	return p, nil
}

// maxNumber is the longest number that rrdtool reads in an expression.
const maxNumber = 40

func compileWord(word string, more bool, index map[string]int32) (node, bool) {
	if more && len(word) <= maxNumber && strings.Trim(word, "0123456789+-.e") == "" {
		if v, n := ScanNumber(word); n > 0 && n == len(word) {
			return node{op: opNumber, number: v}, true
		}
	}
	if o, ok := operators[word]; ok {
		return node{op: o}, true
	}
	if v, ok := index[word]; ok {
		return node{op: opVariable, variable: v}, true
	}
	return node{}, false
}

// nameLetters are the characters of a variable's name in PREV(name).
const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// compilePrev compiles the text behind "PREV(" in the word at offset i. As in rrdtool, the bracket
// at the end of the expression may be missing.
func compilePrev(expr string, i int, text string, more bool, index map[string]int32) (node, error) {
	rest := strings.TrimLeft(text, nameLetters)
	name := text[:len(text)-len(rest)]
	v, known := index[name]
	switch {
	case name == "":
		return node{}, &SyntaxError{Expr: expr, Offset: i}
	case rest != ")" && (rest != "" || more):
		return node{}, &SyntaxError{Expr: expr, Offset: i, Garbage: true}
	case !known:
		return node{}, &VariableError{Name: name, Offset: i}
	}
	return node{op: opPrevOther, variable: v}, nil
}

// bound returns how deep the stack can become.
func (p *Program) bound() int {
	depth, most := 0, 1
	for i, n := range p.nodes {
		depth += table[n.op].pushes
		if n.op == opCopy {
			copies := depth - 1
			if i > 0 && p.nodes[i-1].op == opNumber && p.nodes[i-1].number < float64(copies) {
				copies = int(max(p.nodes[i-1].number, 0))
			}
			depth += max(copies-1, 0)
		}
		depth = min(depth, MaxStack)
		most = max(most, depth)
	}
	return most
}

// StackSize returns for how many elements the stack given to Eval or Run must have room, so that
// they do not allocate.
func (p *Program) StackSize() int { return p.stack }

// Uses reports whether the expression mentions variable i.
func (p *Program) Uses(i int) bool {
	return slices.ContainsFunc(p.nodes, func(n node) bool {
		return (n.op == opVariable || n.op == opPrevOther) && int(n.variable) == i
	})
}

// CheckCompute returns an error unless the program may be the expression of a COMPUTE data source:
// it has no operator that needs more than one row or a clock, its constants are 16-bit integers,
// and it has at most 19 nodes. As in rrdtool, PREV(variable) passes here and fails when it runs.
//
// CheckCompute changes constants -0 to 0, because they are integers. So it must be called before
// other goroutines use the program.
func (p *Program) CheckCompute() error {
	has := func(f func(n node) bool) bool { return slices.ContainsFunc(p.nodes, f) }
	switch {
	case has(func(n node) bool { return table[n.op].column && n.op != opPrevOther }):
		return ErrComputeOperator
	case len(p.nodes) > MaxComputeNodes:
		return &NodesError{Nodes: len(p.nodes)}
	case has(func(n node) bool { return n.op == opNumber && !n.isShort() }):
		return ErrComputeConstant
	case has(func(n node) bool { return n.op == opNow }):
		return ErrComputeNow
	}
	for i := range p.nodes {
		p.nodes[i].number += 0 // -0 becomes 0
	}
	return nil
}

// String returns the expression as rrdtool prints the expression of a COMPUTE data source: its
// words, with 16-bit integers in their shortest form.
func (p *Program) String() string {
	var b strings.Builder
	for i, n := range p.nodes {
		if i > 0 {
			b.WriteByte(',')
		}
		switch n.op {
		case opNumber:
			if n.isShort() {
				b.WriteString(strconv.FormatFloat(n.number, 'f', -1, 64))
			} else {
				word, _, _ := strings.Cut(p.expr[n.offset:], ",")
				b.WriteString(word)
			}
		case opVariable:
			b.WriteString(p.vars[n.variable])
		case opPrevOther:
			b.WriteString("PREV(" + p.vars[n.variable] + ")")
		default:
			b.WriteString(table[n.op].name)
		}
	}
	return b.String()
}

// The bounds of a program.
const (
	MaxNodes        = 1 << 14 // nodes of an expression
	MaxStack        = 1 << 16 // elements of the stack
	MaxComputeNodes = 19      // nodes of a COMPUTE data source
)

// The bounds of EvalColumns.
const (
	MaxRows = 1 << 22 // rows of a result
	MaxWork = 1 << 27 // nodes run, elements counted and rows read by windows
)

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

// A WordKind is what a word of an expression is.
type WordKind uint8

// The kinds of words.
const (
	Operator WordKind = iota
	Number
	Variable
	Previous // PREV(variable)
)

// A Word is one word of a compiled expression.
type Word struct {
	Kind     WordKind
	Operator string  // its name: "+", "UN", …
	Variable int     // Variable, Previous: index into the variables of Compile
	Number   float64 // Number
}

// Words returns the expression word by word, for programs that write it in another form.
func (p *Program) Words() []Word {
	words := make([]Word, len(p.nodes))
	for i, n := range p.nodes {
		w := &words[i]
		switch n.op {
		case opNumber:
			w.Kind, w.Number = Number, n.number
		case opVariable:
			w.Kind, w.Variable = Variable, int(n.variable)
		case opPrevOther:
			w.Kind, w.Variable = Previous, int(n.variable)
		default:
			w.Operator = table[n.op].name
		}
	}
	return words
}

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
