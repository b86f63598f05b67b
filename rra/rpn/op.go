package rpn

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

// names are the names of the operators.
var names = map[op]string{
	opAdd: "+", opSub: "-", opMul: "*", opDiv: "/", opMod: "%", opPow: "POW",
	opSin: "SIN", opCos: "COS", opAtan: "ATAN", opAtan2: "ATAN2", opSqrt: "SQRT", opLog: "LOG", opExp: "EXP",
	opFloor: "FLOOR", opCeil: "CEIL", opRound: "ROUND", opAbs: "ABS", opRad2Deg: "RAD2DEG", opDeg2Rad: "DEG2RAD",
	opLT: "LT", opLE: "LE", opGT: "GT", opGE: "GE", opEQ: "EQ", opNE: "NE", opIf: "IF",
	opMin: "MIN", opMax: "MAX", opMinNaN: "MINNAN", opMaxNaN: "MAXNAN", opAddNaN: "ADDNAN",
	opLimit: "LIMIT", opUn: "UN", opIsInf: "ISINF",
	opUnknown: "UNKN", opInf: "INF", opNegInf: "NEGINF", opNow: "NOW", opPrev: "PREV", opCount: "COUNT",
	opTime: "TIME", opLocalTime: "LTIME", opStepWidth: "STEPWIDTH",
	opNewDay: "NEWDAY", opNewWeek: "NEWWEEK", opNewMonth: "NEWMONTH", opNewYear: "NEWYEAR",
	opDup: "DUP", opPop: "POP", opExc: "EXC", opCopy: "COPY", opDepth: "DEPTH", opIndex: "INDEX", opRoll: "ROLL",
	opSort: "SORT", opRev: "REV", opAvg: "AVG", opMedian: "MEDIAN", opStdev: "STDEV",
	opSMin: "SMIN", opSMax: "SMAX", opPercent: "PERCENT",
	opTrend: "TREND", opTrendNaN: "TRENDNAN",
	opPredict: "PREDICT", opPredictSigma: "PREDICTSIGMA", opPredictPerc: "PREDICTPERC",
}

var operators = func() map[string]op {
	m := make(map[string]op, len(names))
	for o, name := range names {
		m[name] = o
	}
	return m
}()

// needsColumn reports whether o needs more than one row.
func (o op) needsColumn() bool {
	switch o {
	case opPrevOther, opPrev, opCount, opTime, opLocalTime, opStepWidth, opNewDay, opNewWeek, opNewMonth, opNewYear,
		opTrend, opTrendNaN, opPredict, opPredictSigma, opPredictPerc:
		return true
	}
	return false
}

// pushes returns how many elements o may add to the stack, except for COPY.
func (o op) pushes() int {
	switch o {
	case opNumber, opVariable, opPrevOther, opUnknown, opInf, opNegInf, opNow, opPrev, opCount, opTime, opLocalTime,
		opStepWidth, opNewDay, opNewWeek, opNewMonth, opNewYear, opDup, opDepth:
		return 1
	}
	return 0
}
