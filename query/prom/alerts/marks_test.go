package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
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
	marks, rules, err := m.Marks(t.Context(), selects, []string{"a", "b", "c"})
	if err != nil || rules != 2 {
		t.Fatalf("%d rules, %v", rules, err)
	}
	var got []string
	for _, k := range marks {
		var text strings.Builder
		fmt.Fprint(&text, k.Path, " ", k.Name)
		if k.Threshold != nil {
			fmt.Fprint(&text, " ", *k.Threshold)
		}
		for _, s := range k.Spans {
			fmt.Fprint(&text, " fired ", s.Fired.Sub(s.Since), " resolved ", !s.Until.IsZero())
		}
		got = append(got, text.String())
	}
	want := []string{
		"a High 5 fired 1m0s resolved false", "b High 5 fired 1m0s resolved true", "c High 5", "a Sum", "b Sum", "c Sum",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, rules, err := (*Manager)(nil).Marks(t.Context(), selects, []string{"a"}); rules != 0 || err != nil {
		t.Errorf("without rules: %d, %v", rules, err)
	}
}
