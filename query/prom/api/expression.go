package api

import (
	"net/http"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func parseExpr(r *http.Request) (parser.Expr, error) {
	expr, err := parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return nil, badParameter("query", err)
	}
	return expr, nil
}

// formatQuery answers with an expression on lines as Prometheus writes them.
func (h *Handler) formatQuery(r *http.Request, _ string) (*result, error) {
	expr, err := parseExpr(r)
	if err != nil {
		return nil, err
	}
	if n := depth(expr); n > maxFormatted {
		return nil, bad("the expression has %d parts in each other, at most %d are formatted", n, maxFormatted)
	}
	return &result{data: func(o *output) { o.str(expr.Pretty(0)) }}, nil
}

func depth(n parser.Node) (deep int) {
	for child := range parser.ChildrenIter(n) {
		deep = max(deep, depth(child))
	}
	return deep + 1
}

// parseQuery answers with the tree of an expression, as Prometheus' page for queries shows it.
func (h *Handler) parseQuery(r *http.Request, _ string) (*result, error) {
	expr, err := parseExpr(r)
	if err != nil {
		return nil, err
	}
	return encoded(tree(expr))
}

// A node is a node of the tree.
type node map[string]any

// tree returns the node of an expression.
func tree(e parser.Expr) node {
	switch e := e.(type) {
	case *parser.AggregateExpr:
		n := node{
			"type": "aggregation", "op": e.Op.String(), "expr": tree(e.Expr), "param": nil,
			"grouping": listed(e.Grouping), "without": e.Without,
		}
		if e.Param != nil {
			n["param"] = tree(e.Param)
		}
		return n
	case *parser.BinaryExpr:
		return node{
			"type": "binaryExpr", "op": e.Op.String(), "lhs": tree(e.LHS), "rhs": tree(e.RHS),
			"matching": matching(e.VectorMatching), "bool": e.ReturnBool,
		}
	case *parser.Call:
		args := []any{}
		for _, a := range e.Args {
			args = append(args, tree(a))
		}
		f := node{"name": e.Func.Name, "argTypes": e.Func.ArgTypes, "variadic": e.Func.Variadic, "returnType": e.Func.ReturnType}
		return node{"type": "call", "func": f, "args": args}
	case *parser.MatrixSelector:
		n := selector(e.VectorSelector.(*parser.VectorSelector)) // nothing else is there
		n["type"], n["range"] = "matrixSelector", e.Range.Milliseconds()
		return n
	case *parser.SubqueryExpr:
		return node{
			"type": "subquery", "expr": tree(e.Expr), "range": e.Range.Milliseconds(), "offset": e.OriginalOffset.Milliseconds(),
			"step": e.Step.Milliseconds(), "timestamp": e.Timestamp, "startOrEnd": startOrEnd(e.StartOrEnd),
		}
	case *parser.NumberLiteral:
		return node{"type": "numberLiteral", "val": strconv.FormatFloat(e.Val, 'f', -1, 64)}
	case *parser.ParenExpr:
		return node{"type": "parenExpr", "expr": tree(e.Expr)}
	case *parser.StringLiteral:
		return node{"type": "stringLiteral", "val": e.Val}
	case *parser.UnaryExpr:
		return node{"type": "unaryExpr", "op": e.Op.String(), "expr": tree(e.Expr)}
	case *parser.VectorSelector:
		return selector(e)
	}
	return node{"type": "placeholder"}
}

func selector(e *parser.VectorSelector) node {
	return node{
		"type": "vectorSelector", "name": e.Name, "offset": e.OriginalOffset.Milliseconds(), "matchers": listedMatchers(e.LabelMatchers),
		"timestamp": e.Timestamp, "startOrEnd": startOrEnd(e.StartOrEnd), "anchored": e.Anchored, "smoothed": e.Smoothed,
	}
}

func matching(m *parser.VectorMatching) any {
	if m == nil {
		return nil
	}
	return node{
		"card": m.Card.String(), "labels": listed(m.MatchingLabels), "on": m.On, "include": listed(m.Include),
		"fillValues": node{"lhs": m.FillValues.LHS, "rhs": m.FillValues.RHS},
	}
}

func listedMatchers(ms []*labels.Matcher) []node {
	nodes := []node{}
	for _, m := range ms {
		nodes = append(nodes, node{"name": m.Name, "value": m.Value, "type": m.Type.String()})
	}
	return nodes
}

func listed(of []string) []string {
	if of == nil {
		return []string{}
	}
	return of
}

func startOrEnd(i parser.ItemType) any {
	if i == 0 {
		return nil
	}
	return i.String()
}
