package alerts

import "github.com/prometheus/prometheus/promql/parser"

// comparison returns what an expression compares with a number, and the number; an empty text: it
// compares nothing with one.
func comparison(expr string) (compared string, threshold float64) {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return "", 0
	}
	b, ok := bare(e).(*parser.BinaryExpr)
	if !ok || !b.Op.IsComparisonOperator() || b.ReturnBool {
		return "", 0
	}
	for _, side := range [][2]parser.Expr{{b.LHS, b.RHS}, {b.RHS, b.LHS}} {
		if n, ok := numberOf(side[1]); ok && side[0].Type() == parser.ValueTypeVector {
			return side[0].String(), n
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
