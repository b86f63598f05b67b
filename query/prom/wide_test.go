package prom_test

import (
	"fmt"
	"math/rand/v2"
)

// wide returns a query for promtest.Data, which may be a mistake. It has most of PromQL:
// subqueries, @ and offsets, all operators with all ways to match, and functions of labels, buckets
// and time.
func wide(r *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	modifier := func() string {
		return pick("", "", "", "", " offset 1m", " offset -1m", " offset 33s", " @ BASE", " @ start()", " @ end()", " @ start() offset 1m", " offset -30s @ end()")
	}
	selector := func() string {
		return pick("load", "temperature", "requests_total", "odd", "late", "early", "seconds_bucket", "info_of", "nosuch") +
			pick("", "", "", `{instance="a"}`, `{job=~"w.*"}`, `{instance!~"b|c"}`, `{code=~"4..|5.."}`, `{job=""}`, `{nolabel=""}`, `{instance=~""}`)
	}
	if depth == 0 {
		return selector() + modifier()
	}
	vector := func() string { return wide(r, r.IntN(depth)) }
	span := func() string {
		d := pick("30s", "1m", "2m30s", "7m", "1h")
		if r.IntN(3) == 0 {
			return fmt.Sprintf("(%s)[%s:%s]%s", vector(), d, pick("", "10s", "1m", "7s"), modifier())
		}
		return selector() + "[" + d + "]" + modifier()
	}
	labels := func() string {
		return pick("by ", "without ") + "(" + pick("job", "instance", "job, instance", "code", "le", "nolabel", "__name__") + ") "
	}
	number := func() string { return pick("0", "1", "-1", "0.5", "2.5", "Inf", "NaN") }
	switch r.IntN(9) {
	case 0:
		return fmt.Sprintf("%s %s(%s)", pick("sum", "avg", "max", "min", "count", "group"), labels(), vector())
	case 1: // topk and sort of equal values depend on their order, which selectors alone have
		return pick(fmt.Sprintf("%s(%s, %s)", pick("topk", "bottomk", "topk without (code)"), number(), selector()+modifier()),
			fmt.Sprintf("sort(%s)", selector()+modifier()),
			fmt.Sprintf("%s(%s, %s)", pick("quantile", "quantile by (job)"), number(), vector()))
	case 2:
		f := pick("rate", "increase", "delta", "irate", "idelta", "avg_over_time", "max_over_time", "min_over_time", "sum_over_time", "count_over_time",
			"stddev_over_time", "changes", "resets", "deriv", "last_over_time", "present_over_time", "absent_over_time")
		return fmt.Sprintf("%s(%s)", f, span())
	case 3:
		return pick(fmt.Sprintf("quantile_over_time(%s, %s)", number(), span()), fmt.Sprintf("predict_linear(%s, 60)", span()), fmt.Sprintf(`count_values("v", %s)`, vector()))
	case 4:
		how := pick("", "on (instance, job)", "ignoring (code, le, room)", "on (job) group_left", "on (instance) group_right (code)", "on ()")
		return fmt.Sprintf("(%s) %s %s (%s)", vector(), pick("+", "/", "%", "^", "> bool", "<", "=="), how, vector())
	case 5:
		return fmt.Sprintf("(%s) %s %s (%s)", vector(), pick("and", "or", "unless"), pick("", "on (instance)", "ignoring (code)", "on ()"), vector())
	case 6:
		return fmt.Sprintf("(%s) %s %s", vector(), pick("+", "*", "%", ">", "== bool", "/"), number())
	case 7:
		to, value, from := pick("x", "job", "__name__"), pick("$1", "y-$1", ""), pick("instance", "job", "nolabel")
		return pick(fmt.Sprintf(`label_replace(%s, %q, %q, %q, "(a|w.*)")`, vector(), to, value, from), fmt.Sprintf(`label_join(%s, %q, "-", "job", "instance")`, vector(), to))
	}
	return fmt.Sprintf(pick("histogram_quantile(0.9, %s)", "absent(%s)", "timestamp(%s)", "hour(%s)", "scalar(%s)", "-(%s)", "sqrt(%s)"), vector())
}
