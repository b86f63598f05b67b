package rpn

import "math"

// An op is an operation of the machine.
type op uint8

const (
	opNumber op = iota
	opVariable
	opPrevOther // PREV(variable)

	opAdd
	opSub
	opMul
	opDiv
	opMod
	opPow
	opSin
	opCos
	opAtan
	opAtan2
	opSqrt
	opLog
	opExp
	opFloor
	opCeil
	opRound
	opAbs
	opRad2Deg
	opDeg2Rad

	opLT
	opLE
	opGT
	opGE
	opEQ
	opNE
	opIf
	opMin
	opMax
	opMinNaN
	opMaxNaN
	opAddNaN
	opLimit
	opUn
	opIsInf

	opUnknown
	opInf
	opNegInf
	opNow
	opPrev
	opCount
	opTime
	opLocalTime
	opStepWidth
	opNewDay
	opNewWeek
	opNewMonth
	opNewYear

	opDup
	opPop
	opExc
	opCopy
	opDepth
	opIndex
	opRoll

	opSort
	opRev
	opAvg
	opMedian
	opStdev
	opSMin
	opSMax
	opPercent

	opTrend
	opTrendNaN
	opPredict
	opPredictSigma
	opPredictPerc
)

// table is what is known of the operations.
var table = [...]struct {
	name   string
	pushes int                        // elements that it may add to the stack, except for COPY
	column bool                       // it needs more than one row
	unary  func(v float64) float64    // what replaces the element on top
	binary func(a, b float64) float64 // what replaces the two elements on top
}{
	opNumber: {pushes: 1}, opVariable: {pushes: 1}, opPrevOther: {pushes: 1, column: true},
	opAdd: {name: "+", binary: add},
	opSub: {name: "-", binary: func(a, b float64) float64 { return a - b }},
	opMul: {name: "*", binary: func(a, b float64) float64 { return a * b }},
	opDiv: {name: "/", binary: func(a, b float64) float64 { return a / b }},
	opMod: {name: "%", binary: math.Mod}, opPow: {name: "POW", binary: math.Pow}, opAtan2: {name: "ATAN2", binary: math.Atan2},
	opSin: {name: "SIN", unary: math.Sin}, opCos: {name: "COS", unary: math.Cos}, opAtan: {name: "ATAN", unary: math.Atan},
	opSqrt: {name: "SQRT", unary: math.Sqrt}, opLog: {name: "LOG", unary: math.Log}, opExp: {name: "EXP", unary: math.Exp},
	opFloor: {name: "FLOOR", unary: math.Floor}, opCeil: {name: "CEIL", unary: math.Ceil},
	opRound: {name: "ROUND", unary: math.Round}, opAbs: {name: "ABS", unary: math.Abs},
	opRad2Deg: {name: "RAD2DEG", unary: func(v float64) float64 { return v * 57.29577951 }},
	opDeg2Rad: {name: "DEG2RAD", unary: func(v float64) float64 { return v * 0.0174532952 }},
	opUn:      {name: "UN", unary: func(v float64) float64 { return truth(math.IsNaN(v)) }},
	opIsInf:   {name: "ISINF", unary: func(v float64) float64 { return truth(math.IsInf(v, 0)) }},
	opLT:      {name: "LT", binary: known(func(a, b float64) float64 { return truth(a < b) })},
	opLE:      {name: "LE", binary: known(func(a, b float64) float64 { return truth(a <= b) })},
	opGT:      {name: "GT", binary: known(func(a, b float64) float64 { return truth(a > b) })},
	opGE:      {name: "GE", binary: known(func(a, b float64) float64 { return truth(a >= b) })},
	opEQ:      {name: "EQ", binary: known(func(a, b float64) float64 { return truth(a == b) })},
	opNE:      {name: "NE", binary: known(func(a, b float64) float64 { return truth(a != b) })},
	opMin:     {name: "MIN", binary: known(lesser)}, opMax: {name: "MAX", binary: known(greater)},
	opMinNaN: {name: "MINNAN", binary: either(lesser)}, opMaxNaN: {name: "MAXNAN", binary: either(greater)},
	opAddNaN: {name: "ADDNAN", binary: either(add)},
	opIf:     {name: "IF"}, opLimit: {name: "LIMIT"},
	opUnknown: {name: "UNKN", pushes: 1}, opInf: {name: "INF", pushes: 1}, opNegInf: {name: "NEGINF", pushes: 1},
	opNow: {name: "NOW", pushes: 1}, opPrev: {name: "PREV", pushes: 1, column: true},
	opCount: {name: "COUNT", pushes: 1, column: true}, opTime: {name: "TIME", pushes: 1, column: true},
	opLocalTime: {name: "LTIME", pushes: 1, column: true}, opStepWidth: {name: "STEPWIDTH", pushes: 1, column: true},
	opNewDay: {name: "NEWDAY", pushes: 1, column: true}, opNewWeek: {name: "NEWWEEK", pushes: 1, column: true},
	opNewMonth: {name: "NEWMONTH", pushes: 1, column: true}, opNewYear: {name: "NEWYEAR", pushes: 1, column: true},
	opDup: {name: "DUP", pushes: 1}, opPop: {name: "POP"}, opExc: {name: "EXC"}, opCopy: {name: "COPY"},
	opDepth: {name: "DEPTH", pushes: 1}, opIndex: {name: "INDEX"}, opRoll: {name: "ROLL"},
	opSort: {name: "SORT"}, opRev: {name: "REV"}, opAvg: {name: "AVG"}, opMedian: {name: "MEDIAN"}, opStdev: {name: "STDEV"},
	opSMin: {name: "SMIN"}, opSMax: {name: "SMAX"}, opPercent: {name: "PERCENT"},
	opTrend: {name: "TREND", column: true}, opTrendNaN: {name: "TRENDNAN", column: true},
	opPredict: {name: "PREDICT", column: true}, opPredictSigma: {name: "PREDICTSIGMA", column: true},
	opPredictPerc: {name: "PREDICTPERC", column: true},
}

// operators are the operations that have a name.
var operators = func() map[string]op {
	m := make(map[string]op, len(table))
	for o := range table {
		if name := table[o].name; name != "" {
			m[name] = op(o)
		}
	}
	return m
}()

func add(a, b float64) float64 { return a + b }

func lesser(a, b float64) float64 {
	if a > b {
		return b
	}
	return a
}

func greater(a, b float64) float64 {
	if a < b {
		return b
	}
	return a
}

// known returns f, but NaN where an argument is unknown.
func known(f func(a, b float64) float64) func(a, b float64) float64 {
	return func(a, b float64) float64 {
		if math.IsNaN(a) || math.IsNaN(b) {
			return math.NaN()
		}
		return f(a, b)
	}
}

// either returns f, but the other argument where one is unknown.
func either(f func(a, b float64) float64) func(a, b float64) float64 {
	return func(a, b float64) float64 {
		switch {
		case math.IsNaN(a):
			return b
		case math.IsNaN(b):
			return a
		}
		return f(a, b)
	}
}
