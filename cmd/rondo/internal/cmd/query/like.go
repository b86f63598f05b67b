package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/prom"
)

// explainNothing prints which metrics of an expression without a result no series has, each with
// names like it. It is a hint: what fails here is left out.
func (q *querying) explainNothing(ctx context.Context, o *backend.Database, expr string, rules []prom.Rule) {
	e, err := parser.ParseExpr(expr)
	known, failed := o.PromList(ctx, "__name__", nil, rules)
	if cmp.Or(err, failed) != nil {
		return
	}
	for _, m := range slices.Concat(parser.ExtractSelectors(e)...) {
		if m.Name != "__name__" || m.Type != labels.MatchEqual || slices.Contains(known, m.Value) {
			continue
		}
		text := "no series " + cli.Quoted(m.Value)
		if like := metricsLike(m.Value, known); len(like) > 0 {
			text += "; names like it: " + strings.Join(like, ", ")
		}
		_, _ = fmt.Fprintln(q.Stderr, text)
	}
}

// metricsLike returns at most three names that have name as a part or differ little from it, the
// nearest first.
func metricsLike(name string, known []string) []string {
	limit := max(2, len(name)/4)
	near := func(x string) int {
		d := cli.Distance(strings.ToLower(name), strings.ToLower(x), limit)
		if d > limit && strings.Contains(strings.ToLower(x), strings.ToLower(name)) {
			return limit
		}
		return d
	}
	like := slices.DeleteFunc(slices.Clone(known), func(x string) bool { return near(x) > limit })
	slices.SortFunc(like, func(a, b string) int { return cmp.Or(near(a)-near(b), cmp.Compare(a, b)) })
	return like[:min(len(like), 3)]
}
