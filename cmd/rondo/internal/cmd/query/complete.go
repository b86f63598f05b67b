package query

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/prom"
)

// What stands before the end of an expression that is being typed.
var (
	wordAtEnd   = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelAtEnd  = regexp.MustCompile(`^(.*[{,]\s*)([a-zA-Z_][a-zA-Z0-9_]*)?$`)
	valueAtEnd  = regexp.MustCompile(`^(.*?)([a-zA-Z_][a-zA-Z0-9_]*)\s*(=|!=|=~|!~)\s*"([^"\\]*)$`)
	listsLabels = regexp.MustCompile(`(?i)\b(by|without|on|ignoring|group_left|group_right)\s*$`)
)

// An unfinished is an expression up to where its end is being typed.
type unfinished struct {
	kept   string // what stays as it is
	word   string // what is completed
	metric string // the metric whose labels are meant; "": unknown
	label  string // the label whose value word is; "": it is no value
	labels bool   // word is the name of a label
}

// readUnfinished finds out what the end of an expression is. ok is false if nothing is known of it:
// it is a number, or a text that is no value of a label.
func readUnfinished(expr string) (u unfinished, ok bool) {
	open := lastOpen(expr)
	if open >= 0 && expr[open] == '{' {
		u.metric = wordAtEnd.FindString(strings.TrimRight(expr[:open], " "))
		inside := expr[open:]
		if m := valueAtEnd.FindStringSubmatch(inside); m != nil {
			u.label, u.word = m[2], m[4]
			u.kept = expr[:len(expr)-len(u.word)]
			return u, true
		}
		m := labelAtEnd.FindStringSubmatch(inside)
		if m == nil {
			return u, false
		}
		u.labels, u.word = true, m[2]
		u.kept = expr[:len(expr)-len(u.word)]
		return u, true
	}
	if strings.Count(expr, `"`)%2 != 0 || strings.Count(expr, "'")%2 != 0 {
		return u, false
	}
	u.word = wordAtEnd.FindString(expr)
	u.kept = expr[:len(expr)-len(u.word)]
	if u.kept != "" && strings.ContainsRune("0123456789.", rune(u.kept[len(u.kept)-1])) || strings.HasSuffix(u.kept, "[") {
		return u, false // 5m
	}
	u.labels = open >= 0 && expr[open] == '(' && listsLabels.MatchString(expr[:open])
	return u, true
}

// lastOpen returns the index of the bracket in which expr ends; -1: in none. Brackets in texts do
// not count.
func lastOpen(expr string) int {
	var open []int
	quote := byte(0)
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(' || c == '{':
			open = append(open, i)
		case (c == ')' || c == '}') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}

// complete offers metrics, functions, names of labels and their values, whatever is being typed at
// the end of an expression.
func (q *querying) complete(cmd *cobra.Command, args []string, expr string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	u, ok := readUnfinished(expr)
	if len(args) > 0 || !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteTime)
	defer cancel()
	var names []string
	err := q.Target().Read(ctx, func(db *backend.Database) (err error) {
		names, err = q.offered(ctx, db, &u)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	if !u.labels && u.label == "" && u.word != "" {
		for name := range parser.Functions {
			names = append(names, name+"(")
		}
	}
	slices.Sort(names)
	out := make([]cobra.Completion, 0, len(names))
	for _, name := range slices.Compact(names) {
		if !strings.HasPrefix(name, u.word) || len(out) == cli.MostCompleted {
			continue
		}
		if u.label != "" {
			name = strconv.Quote(name)[1:] // up to the quote behind it
		}
		out = append(out, u.kept+name)
	}
	return out, directive
}

// offered asks the database what may stand at the end of an expression.
func (q *querying) offered(ctx context.Context, db *backend.Database, u *unfinished) ([]string, error) {
	rules, err := q.metrics()
	if err != nil {
		return nil, err
	}
	label, matchers := "", []string(nil)
	if u.metric != "" {
		matchers = append(matchers, "__name__="+strconv.Quote(u.metric))
	}
	if !u.labels {
		label = cmp.Or(u.label, "__name__")
		matchers = append(matchers, label+"=~"+strconv.Quote(regexp.QuoteMeta(u.word)+".*"))
	}
	form := url.Values{"limit": {strconv.Itoa(cli.MostCompleted)}}
	if len(matchers) > 0 {
		form.Set("match[]", "{"+strings.Join(matchers, ",")+"}")
	}
	return db.PromList(ctx, label, form, rules)
}

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
