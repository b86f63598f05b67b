package rrdfile

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// A native file holds the expression of a COMPUTE data source in place of its parameters. It is a
// list of up to 20 nodes of 4 bytes: a code, a byte without meaning, and a 16-bit integer. The
// integer is the value of a number, or the index of a data source.
const (
	nodeSize = 4
	maxNodes = paramsSize / nodeSize

	codeNumber   = 0
	codeVariable = 1
	codeEnd      = 32
	codePrevious = 36 // PREV(variable)
)

// operators are the names of operators by code. They are a part of the format. The other codes are
// no operators.
var operators = [...]string{
	2: "INF", 3: "PREV", 4: "NEGINF", 5: "UNKN", 6: "NOW", 7: "TIME",
	8: "+", 9: "%", 10: "-", 11: "*", 12: "/", 13: "SIN", 14: "DUP", 15: "EXC", 16: "POP", 17: "COS", 18: "LOG", 19: "EXP",
	20: "LT", 21: "LE", 22: "GT", 23: "GE", 24: "EQ", 25: "IF", 26: "MIN", 27: "MAX", 28: "LIMIT", 29: "FLOOR", 30: "CEIL", 31: "UN",
	33: "LTIME", 34: "NE", 35: "ISINF", 37: "COUNT", 38: "ATAN", 39: "SQRT", 40: "SORT", 41: "REV", 42: "TREND", 43: "TRENDNAN",
	44: "ATAN2", 45: "RAD2DEG", 46: "DEG2RAD", 47: "PREDICT", 48: "PREDICTSIGMA", 49: "AVG", 50: "ABS", 51: "ADDNAN",
	52: "MINNAN", 53: "MAXNAN", 54: "MEDIAN", 55: "PREDICTPERC", 56: "DEPTH", 57: "COPY", 58: "ROLL", 59: "INDEX",
	60: "STEPWIDTH", 61: "NEWDAY", 62: "NEWWEEK", 63: "NEWMONTH", 64: "NEWYEAR", 65: "SMIN", 66: "SMAX", 67: "STDEV",
	68: "PERCENT", 69: "POW", 70: "ROUND", // of rrdtool 1.8
}

var operatorCodes = func() map[string]byte {
	m := make(map[string]byte, len(operators))
	for code, name := range operators {
		if name != "" {
			m[name] = byte(code)
		}
	}
	return m
}()

// expression reads the nodes of data source i at offset at, and turns them into text.
func (d *decoder) expression(i, at int) error {
	def := &d.f.Definition
	field := fmt.Sprintf("ds[%d].cdef", i)
	var words []string
	for n := range maxNodes {
		node := d.b[at+n*nodeSize:][:nodeSize]
		code, value := node[0], int16(d.order.Uint16(node[2:]))
		word := ""
		switch {
		case code == codeEnd:
			s := &def.Sources[i]
			s.Expr = strings.Join(words, ",")
			if coded, err := appendExpression(nil, def, i, d.order); err != nil || !sameNodes(coded, d.b[at:], n+1) {
				d.f.unclear = append(d.f.unclear, i)
			}
			return nil
		case code == codeNumber:
			word = strconv.Itoa(int(value))
		case code == codeVariable, code == codePrevious:
			if value < 0 || int(value) >= len(def.Sources) {
				return d.fail(at+n*nodeSize+2, field, "data source %d of %d", value, len(def.Sources))
			}
			if word = def.Sources[value].Name; code == codePrevious {
				word = "PREV(" + word + ")"
			}
		case int(code) < len(operators):
			word = operators[code]
		}
		if word == "" {
			return d.fail(at+n*nodeSize, field, "code %d is no operator", code)
		}
		words = append(words, word)
	}
	return d.fail(at, field, "does not end")
}

// sameNodes reports whether the first n nodes of a and b are the same, apart from bytes without
// meaning.
func sameNodes(a, b []byte, n int) bool {
	for ; n > 0; n-- {
		hasValue := a[0] == codeNumber || a[0] == codeVariable || a[0] == codePrevious
		if a[0] != b[0] || hasValue && !bytes.Equal(a[2:nodeSize], b[2:nodeSize]) {
			return false
		}
		a, b = a[nodeSize:], b[nodeSize:]
	}
	return true
}

// appendExpression appends the nodes of the expression of data source i. The expression may refer
// to the data sources before i.
func appendExpression(dst []byte, def *rra.Definition, i int, order byteOrder) ([]byte, error) {
	fail := func(err any) ([]byte, error) {
		return nil, &FieldError{fmt.Sprintf("ds[%d].cdef", i), fmt.Sprint(err)}
	}
	p, err := rpn.Compile(def.Sources[i].Expr, rra.SourceNames(def.Sources[:i]))
	if err != nil {
		return fail(err)
	}
	words := p.Words()
	if len(words) >= maxNodes {
		return fail(&rpn.NodesError{Nodes: len(words)})
	}
	start := len(dst)
	for _, w := range words {
		code, value := byte(codeNumber), int16(0)
		switch w.Kind {
		case rpn.Number:
			if w.Number != math.Trunc(w.Number) || w.Number < math.MinInt16 || w.Number > math.MaxInt16 {
				return fail(rpn.ErrComputeConstant)
			}
			value = int16(w.Number)
		case rpn.Variable:
			code, value = codeVariable, int16(w.Variable)
		case rpn.Previous:
			code, value = codePrevious, int16(w.Variable)
		default:
			if code = operatorCodes[w.Operator]; code == 0 {
				return fail(fmt.Sprintf("operator %s is not known to rrdtool", w.Operator))
			}
		}
		dst = append(dst, code, 0)
		dst = order.AppendUint16(dst, uint16(value))
	}
	dst = append(dst, codeEnd, 0, 0, 0)
	return append(dst, make([]byte, paramsSize-(len(dst)-start))...), nil
}
