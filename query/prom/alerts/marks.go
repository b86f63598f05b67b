package alerts

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const (
	maxMarks    = 10_000
	maxSpans    = 20 // the newest of a mark
	maxReadings = 10 // of the query of a line
)

// Selects calls fn for each metric of the series at paths that one of lists of matchers selects,
// with the index of the list. counter says that the series keeps the rate of the metric.
type Selects func(ctx context.Context, paths []string, lists [][]*labels.Matcher, fn func(list int, path, ds string, ls labels.Labels, counter bool)) error

// A marking collects what alerting rules say of what a page shows.
type marking struct {
	rules []*rule
	lists [][]*labels.Matcher // of the readings of all rules
	reads []reading
	of    []*rule
	at    map[markPlace]int
	about []labels.Labels // of each mark
	marks []*rondov1.AlertMark
}

type markPlace struct {
	rule     *rule
	path, ds string
	line     int
}

// marksOf returns what the alerting rules say of the paths and lines of a request, and how many
// such rules there are. A nil Manager has none. Errors are ctx's and the store's.
func (m *Manager) marksOf(ctx context.Context, selects Selects, req *rondov1.AlertsRequest) (marks []*rondov1.AlertMark, rules int, err error) {
	if m == nil {
		return nil, 0, nil
	}
	k := marking{at: make(map[markPlace]int)}
	m.mu.Lock()
	for _, g := range m.groups {
		for _, r := range g.rules {
			if r.alerting {
				k.rules = append(k.rules, r)
			}
			for _, x := range r.reads {
				k.lists, k.reads, k.of = append(k.lists, x.matchers), append(k.reads, x), append(k.of, r)
			}
		}
	}
	m.mu.Unlock()
	if len(req.GetPaths()) > 0 && len(k.lists) > 0 {
		err = selects(ctx, req.GetPaths(), k.lists, func(list int, path, ds string, ls labels.Labels, counter bool) {
			k.read(list, markPlace{path: path, ds: ds}, ls, counter, true)
		})
	}
	for i, l := range req.GetLines() {
		if err == nil {
			k.line(i, l)
			err = ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, i := range k.at {
		k.marks[i].Spans = at.rule.spans(k.about[i])
	}
	return k.marks, len(k.rules), err
}

// read adds that a list selects a metric that is shown: its rate, or its rows. plain says that what
// is shown may be compared with the number that the rule compares with.
func (k *marking) read(list int, at markPlace, ls labels.Labels, rate, plain bool) {
	at.rule = k.of[list]
	if x := k.reads[list]; plain && x.rate == rate {
		k.add(at, ls, x.threshold)
	} else {
		k.add(at, ls, nil)
	}
}

func (k *marking) add(at markPlace, ls labels.Labels, threshold *float64) {
	i, ok := k.at[at]
	if !ok {
		if len(k.marks) == maxMarks {
			return
		}
		i, k.at[at], k.about = len(k.marks), len(k.marks), append(k.about, ls)
		k.marks = append(k.marks, &rondov1.AlertMark{Path: valid(at.path), Ds: valid(at.ds), Line: int32(at.line), Name: valid(at.rule.name)})
	}
	if k.marks[i].Threshold == nil {
		k.marks[i].Threshold = threshold
	}
}

// line adds what rules say of a line of a query: those that compare the same, and those that read a
// metric of the query. A label that the query aggregates away may have any value.
func (k *marking) line(i int, l *rondov1.AlertLine) {
	e, err := parser.ParseExpr(l.GetQuery())
	if err != nil {
		return
	}
	own := labels.NewBuilder(labels.EmptyLabels())
	for _, x := range l.GetLabels() {
		own.Set(x.GetName(), x.GetValue())
	}
	for _, r := range k.rules {
		if r.compared == bare(e).String() {
			k.add(markPlace{rule: r, line: i}, own.Labels(), &r.threshold)
		}
	}
	whole := true // no label is aggregated away
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		_, aggregates := n.(*parser.AggregateExpr)
		b, binary := n.(*parser.BinaryExpr)
		whole = whole && !aggregates && (!binary || b.VectorMatching == nil)
		return nil
	})
	all := readings(e, new(float64), false)
	for _, shown := range all[:min(len(all), maxReadings)] {
		about := labels.NewBuilder(own.Labels())
		for _, m := range shown.matchers {
			if m.Type == labels.MatchEqual {
				about.Set(m.Name, m.Value)
			}
		}
		ls := about.Labels()
		for list, matchers := range k.lists {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
				v := ls.Get(m.Name)
				return (whole || v != "") && !m.Matches(v)
			}) {
				k.read(list, markPlace{line: i}, ls, shown.rate, shown.threshold != nil)
			}
		}
	}
}

// spans returns when the newest alerts of the rule were pending and fired that are about a metric:
// the labels that both have are equal.
func (r *rule) spans(of labels.Labels) (out []*rondov1.AlertSpan) {
	for _, a := range r.active {
		same := true
		a.Labels.Range(func(l labels.Label) {
			if v := of.Get(l.Name); v != "" && v != l.Value && r.labels[l.Name] == "" {
				same = false
			}
		})
		if same {
			out = append(out, &rondov1.AlertSpan{SinceUs: a.ActiveAt.UnixMicro(), FiredUs: micros(a.FiredAt), UntilUs: micros(a.ResolvedAt)})
		}
	}
	slices.SortFunc(out, func(a, b *rondov1.AlertSpan) int { return cmp.Compare(b.GetSinceUs(), a.GetSinceUs()) })
	return out[:min(len(out), maxSpans)]
}

// micros returns a time in microseconds; 0: never.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// valid returns a text as the RPC can send it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
