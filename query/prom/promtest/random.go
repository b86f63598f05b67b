package promtest

import (
	"fmt"
	"math/rand/v2"
)

// Random returns a query for Data that nobody has written: operators, aggregations and functions in
// one another. It has no mistakes, but it may match nothing, or one series with many.
func Random(r *rand.Rand) string { return random(r, 3) }

func random(r *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	selector := func() string {
		return pick("load", "temperature", "requests_total", "odd", `{job="web"}`, "seconds_count") +
			pick("", "", `{instance="a"}`, `{job=~"w.*"}`, `{instance!~"b|c"}`, `{job!=""}`)
	}
	one := func() string {
		return pick("load", "temperature", "odd", "seconds_count", "late") + pick("", `{instance="a"}`, `{job=~"w.*|"}`)
	}
	if depth == 0 {
		return one() + pick("", "", " offset 1m", " offset 33s", " @ BASE")
	}
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("%s %s (%s)", pick("sum", "avg", "max", "min", "count", "stddev"), pick("by (job)", "by (instance)", "without (instance)", ""), random(r, depth-1))
	case 1:
		return fmt.Sprintf("%s(%s)", pick("abs", "ceil", "floor", "sgn", "sqrt", "exp", "-", "deg"), random(r, depth-1))
	case 2:
		f := pick("rate", "increase", "delta", "avg_over_time", "max_over_time", "sum_over_time", "stddev_over_time", "changes", "resets", "deriv", "last_over_time")
		return fmt.Sprintf("%s(%s[%s]%s)", f, one(), pick("30s", "1m", "2m30s", "5m"), pick("", " offset 1m"))
	case 3:
		return fmt.Sprintf("(%s) %s on (instance, job) (%s)", random(r, depth-1), pick("+", "-", "*", "/", "> bool", "and", "or", "unless"), random(r, depth-1))
	case 4:
		return fmt.Sprintf("(%s) %s %s", random(r, depth-1), pick("+", "-", "*", "%", ">", "<=", "== bool"), pick("0", "1", "-2.5", "10"))
	}
	return fmt.Sprintf("sum by (job) (%s)", pick(selector(), "rate("+selector()+"[1m])"))
}
