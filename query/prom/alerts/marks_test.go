package alerts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// What an expression reads, and what its values are compared with.
func TestReadings(t *testing.T) {
	for expr, want := range map[string]string{
		`m > 5`:                                 "m 5",
		`m{host="a"} < bool 5`:                  "m 5",
		`-5 < m`:                                "m -5",
		`(avg_over_time(m[5m])) >= 0.5`:         "m 0.5",
		`rate(m[5m]) > 5 and on () n < 3`:       "m 5 rate n 3",
		`avg by (host) (irate(m[5m])) > 5`:      "m 5 rate",
		`max_over_time(rate(m[1m])[5m:]) > 5`:   "m 5 rate",
		`sum(m) > 5`:                            "m",
		`100 * m / n > 90`:                      "m n",
		`m > n`:                                 "m n",
		`absent(m)`:                             "m",
		`count_over_time(m[5m]) < 1 or m == 12`: "m m 12",
		`-m > 5`:                                "m",
		`vector(7) > 5`:                         "",
	} {
		e, err := parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range readings(e, nil, false) {
			i := slices.IndexFunc(r.matchers, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel })
			got = append(got, r.matchers[i].Value)
			if r.threshold != nil {
				got = append(got, fmt.Sprint(*r.threshold))
			}
			if r.rate {
				got = append(got, "rate")
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// TestMarks: a series has the thresholds of the rules that read it, and the times at which their
// alerts about it were pending and fired.
func TestMarks(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m, w := manager(t, `groups: [{name: g, rules: [{alert: High, expr: m > 5, for: 1m, labels: {host_is: x}}, {alert: Sum, expr: 'sum(rate(m[1m])) > 9'}]}]`,
		func(c *Config) { c.Now = func() time.Time { return now } })
	w.set("m > 5", map[string]float64{"a": 6, "b": 6})
	for range 2 {
		m.evaluate(t.Context(), m.groups[0], now)
		now = now.Add(time.Minute)
	}
	w.set("m > 5", map[string]float64{"a": 6})
	m.evaluate(t.Context(), m.groups[0], now)
	selects := func(_ context.Context, paths []string, lists [][]*labels.Matcher, fn func(int, string, string, labels.Labels, bool)) error {
		for list := range lists {
			for _, p := range paths {
				fn(list, p, "value", labels.FromStrings("__name__", "m", "host", p), false)
			}
		}
		return nil
	}
	marks, rules, err := m.marksOf(t.Context(), selects, &rondov1.AlertsRequest{Paths: []string{"a", "b", "c"}})
	if err != nil || rules != 2 {
		t.Fatalf("%d rules, %v", rules, err)
	}
	want := []string{
		"a High 5 fired 1m0s resolved false", "b High 5 fired 1m0s resolved true", "c High 5", "a Sum", "b Sum", "c Sum",
	}
	if got := written(marks); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, rules, err := (*Manager)(nil).marksOf(t.Context(), selects, &rondov1.AlertsRequest{Paths: []string{"a"}}); rules != 0 || err != nil {
		t.Errorf("without rules: %d, %v", rules, err)
	}
}

// written writes marks as "path-or-line name threshold" and their times.
func written(marks []*rondov1.AlertMark) (out []string) {
	for _, k := range marks {
		var text strings.Builder
		fmt.Fprint(&text, cmp.Or(k.GetPath(), fmt.Sprint(k.GetLine())), " ", k.GetName())
		if k.Threshold != nil {
			fmt.Fprint(&text, " ", k.GetThreshold())
		}
		for _, s := range k.GetSpans() {
			fmt.Fprint(&text, " fired ", time.Duration(s.GetFiredUs()-s.GetSinceUs())*time.Microsecond, " resolved ", s.GetUntilUs() != 0)
		}
		out = append(out, text.String())
	}
	return out
}

// TestMarksOfLines: a line of PromQL has the marks of the rules that read what it shows, and the
// threshold where it shows that as it is. What the query aggregates away may have any value.
func TestMarksOfLines(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m, w := manager(t, `groups: [{name: g, rules: [{alert: High, expr: 'm{job="x"} > 5'}, {alert: Rate, expr: 'rate(n[5m]) > 2'}, {alert: Any, expr: '{__name__=~"m|k"} > 7'}, {alert: Sum, expr: '(100 * sum(n)) > 9'}]}]`,
		func(c *Config) { c.Now = func() time.Time { return now } })
	w.set(`m{job="x"} > 5`, map[string]float64{"a": 6})
	m.evaluate(t.Context(), m.groups[0], now)
	for _, c := range []struct{ query, labels, want string }{
		{`m`, `{__name__="m", host="a", job="x"}`, "0 High 5 fired 0s resolved false, 0 Any 7"},
		{`m`, `{__name__="m", host="b", job="x"}`, "0 High 5, 0 Any 7"},
		{`m`, `{__name__="m", host="a", job="y"}`, "0 Any 7"},
		{`m`, `{__name__="m", host="a"}`, "0 Any 7"},
		{`{__name__=~"k.*"}`, `{__name__="k"}`, "0 Any 7"},
		{`max by (host) (m)`, `{host="b"}`, "0 High 5, 0 Any 7"},
		{`max by (job) (m)`, `{job="y"}`, "0 Any 7"},
		{`sum(m{job="x"})`, `{}`, "0 High fired 0s resolved false, 0 Any"},
		{`m{job="x"} * 2`, `{host="a", job="x"}`, "0 High fired 0s resolved false, 0 Any"},
		{`irate(n[1m])`, `{}`, "0 Rate 2, 0 Sum"},
		{`n`, `{__name__="n"}`, "0 Rate, 0 Sum"},
		{`((100 * sum(n)))`, `{}`, "0 Sum 9, 0 Rate"},
		{`100  *  sum(n)`, `{}`, "0 Sum 9, 0 Rate"},
		{`rate(m[5m])`, `{job="x", host="a"}`, "0 High fired 0s resolved false, 0 Any"},
		{`other`, `{__name__="other"}`, ""},
		{`m +`, `{}`, ""},
	} {
		ls, err := parser.ParseMetric(c.labels)
		if err != nil {
			t.Fatal(err)
		}
		marks, _, err := m.marksOf(t.Context(), nil, &rondov1.AlertsRequest{Lines: []*rondov1.AlertLine{{Query: c.query, Labels: textsOf(ls)}}})
		if got := strings.Join(written(marks), ", "); got != c.want || err != nil {
			t.Errorf("%s %s: %s, %v; want %s", c.query, c.labels, got, err, c.want)
		}
	}
}
