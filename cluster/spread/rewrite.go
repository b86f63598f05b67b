package spread

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// placeholder is what the names begin with that stand for sums in an expression. They are short:
// what is left of the sum is filled with blanks, so that everything else keeps its position, which
// warnings name.
const placeholder = "__p"

// maxSums is how many sums of an expression go to the partitions. Their numbers have one digit.
const maxSums = 10

// A sum is an aggregation that the partitions evaluate.
type sum struct {
	op    parser.ItemType
	texts []string // what a partition evaluates, at the position that it had
}

// rewrite finds the aggregations of an expression that partitions can evaluate. It returns the
// expression with placeholders for them. There are none if the expression has a mistake.
func rewrite(text string) (out string, sums []sum) {
	if strings.Contains(text, placeholder) {
		return text, nil
	}
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return text, nil
	}
	var found []*parser.AggregateExpr
	find(expr, &found)
	out = text
	for _, e := range found {
		at := e.PositionRange()
		from, to := int(at.Start), int(at.End)
		name := fmt.Sprint(placeholder, len(sums))
		if len(sums) == maxSums || from < 0 || to > len(text) || to-from < len(name) {
			continue
		}
		// What is cut out must be the aggregation, all of it.
		if cut, err := parser.ParseExpr(text[from:to]); err != nil || cut.String() != e.String() {
			continue
		}
		s := sum{op: e.Op, texts: []string{blank(text[:from]) + text[from:to]}}
		if e.Op == parser.AVG {
			avg := *e
			for i, op := range []parser.ItemType{parser.SUM, parser.COUNT} {
				avg.Op = op
				s.texts = append(s.texts[:i], blank(text[:from])+avg.String())
			}
		}
		out = out[:from] + name + blank(text[from:to])[len(name):] + out[to:]
		sums = append(sums, s)
	}
	return out, sums
}

// blank returns text with blanks for all but the ends of lines.
func blank(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c != '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}

// find appends the aggregations below e that partitions can evaluate.
func find(e parser.Expr, found *[]*parser.AggregateExpr) {
	switch e := e.(type) {
	case *parser.AggregateExpr:
		if spreads(e) {
			*found = append(*found, e)
			return
		}
		find(e.Expr, found)
		if e.Param != nil {
			find(e.Param, found)
		}
	case *parser.BinaryExpr:
		find(e.LHS, found)
		find(e.RHS, found)
	case *parser.ParenExpr:
		find(e.Expr, found)
	case *parser.UnaryExpr:
		find(e.Expr, found)
	case *parser.Call:
		switch e.Func.Name {
		case "absent", "timestamp", "info": // they look at the selector itself
			return
		}
		for _, a := range e.Args {
			find(a, found)
		}
	}
}

// spreads reports whether the parts of an aggregation can be put together.
func spreads(e *parser.AggregateExpr) bool {
	switch e.Op {
	case parser.SUM, parser.MIN, parser.MAX, parser.COUNT, parser.GROUP, parser.AVG:
	default:
		return false
	}
	// Metrics that have the same labels get one with the path of their series (see package prom). A
	// partition does not know that another one has the second of them. So nothing that depends on
	// that label may be evaluated there.
	return !e.Without && e.Param == nil && !slices.ContainsFunc(e.Grouping, isPath) && alone(e.Expr, false)
}

func isPath(name string) bool { return strings.TrimLeft(name, "_") == "path" }

// alone reports whether each series of an expression is made of one series of the storage, without
// regard to the others. named says that the name must be known: what drops it must not meet two
// series that differ in nothing else, which is an error.
func alone(e parser.Expr, named bool) bool {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return alone(e.Expr, named)
	case *parser.UnaryExpr:
		return alone(e.Expr, true)
	case *parser.VectorSelector:
		return plainSelector(e) && (!named || hasName(e))
	case *parser.BinaryExpr:
		switch {
		case e.Op.IsSetOperator():
			return false
		case isNumber(e.LHS):
			return alone(e.RHS, true)
		case isNumber(e.RHS):
			return alone(e.LHS, true)
		}
	case *parser.Call:
		switch e.Func.Name {
		case "rate", "increase", "irate", "delta", "idelta", "deriv", "changes", "resets",
			"avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "count_over_time", "last_over_time",
			"present_over_time", "stddev_over_time", "stdvar_over_time":
			m, ok := e.Args[0].(*parser.MatrixSelector)
			if !ok || m.RangeExpr != nil {
				return false
			}
			v, ok := m.VectorSelector.(*parser.VectorSelector)
			return ok && plainSelector(v) && hasName(v)
		case "abs", "ceil", "floor", "exp", "ln", "log2", "log10", "sqrt", "sgn", "deg", "rad":
			return alone(e.Args[0], true)
		}
	}
	return false
}

// plainSelector reports whether a selector has nothing that is experimental.
func plainSelector(v *parser.VectorSelector) bool {
	return v.OriginalOffsetExpr == nil && !v.Anchored && !v.Smoothed
}

func hasName(v *parser.VectorSelector) bool {
	return slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool {
		return m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual && m.Value != ""
	})
}

func isNumber(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.NumberLiteral:
		return true
	case *parser.ParenExpr:
		return isNumber(e.Expr)
	case *parser.UnaryExpr:
		return isNumber(e.Expr)
	}
	return false
}
