package alerts

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// comparison returns what an expression compares with a number, and the number; an empty text: it
// compares nothing with one.
func comparison(e parser.Expr) (compared string, threshold float64) {
	b, ok := bare(e).(*parser.BinaryExpr)
	if !ok || !b.Op.IsComparisonOperator() || b.ReturnBool {
		return "", 0
	}
	for _, side := range [][2]parser.Expr{{b.LHS, b.RHS}, {b.RHS, b.LHS}} {
		if n, ok := numberOf(side[1]); ok && side[0].Type() == parser.ValueTypeVector {
			return bare(side[0]).String(), n
		}
	}
	return "", 0
}

// bare returns an expression without the parentheses around it.
func bare(e parser.Expr) parser.Expr {
	for p, ok := e.(*parser.ParenExpr); ok; p, ok = e.(*parser.ParenExpr) {
		e = p.Expr
	}
	return e
}

// numberOf returns the number that an expression is.
func numberOf(e parser.Expr) (float64, bool) {
	switch x := bare(e).(type) {
	case *parser.NumberLiteral:
		return x.Val, true
	case *parser.UnaryExpr:
		n, ok := numberOf(x.Expr)
		if x.Op == parser.SUB {
			n = -n
		}
		return n, ok
	}
	return 0, false
}

// A reading is a selector of an expression.
type reading struct {
	matchers  []*labels.Matcher
	threshold *float64 // what the expression compares its values with; nil: it does not
	rate      bool     // their rate
}

// readings returns the selectors of an expression, whose value is compared with a number; nil: it
// is not.
func readings(e parser.Expr, with *float64, rate bool) (all []reading) {
	switch x := e.(type) {
	case *parser.VectorSelector:
		return []reading{{x.LabelMatchers, with, rate}}
	case *parser.ParenExpr:
		return readings(x.Expr, with, rate)
	case *parser.BinaryExpr:
		left, right := with, with
		if !x.Op.IsSetOperator() {
			left, right = nil, nil
			if n, ok := numberOf(x.RHS); ok && x.Op.IsComparisonOperator() {
				left = &n
			} else if n, ok := numberOf(x.LHS); ok && x.Op.IsComparisonOperator() {
				right = &n
			}
		}
		return append(readings(x.LHS, left, rate), readings(x.RHS, right, rate)...)
	case *parser.Call:
		rate = rate || x.Func.Name == "rate" || x.Func.Name == "irate"
		if !rate && !slices.Contains([]string{"avg_over_time", "min_over_time", "max_over_time", "last_over_time", "quantile_over_time"}, x.Func.Name) {
			with = nil
		}
	case *parser.AggregateExpr:
		if !strings.Contains(" avg min max quantile topk bottomk ", " "+x.Op.String()+" ") {
			with = nil
		}
	case *parser.MatrixSelector, *parser.SubqueryExpr, *parser.StepInvariantExpr:
	default:
		with = nil
	}
	for child := range parser.ChildrenIter(e) {
		if c, ok := child.(parser.Expr); ok {
			all = append(all, readings(c, with, rate)...)
		}
	}
	return all
}
