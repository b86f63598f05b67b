package promtest

import "strings"

// Queries returns queries for Data: each function, aggregation, operator and kind of matcher that
// Prometheus has since 2.42 and that is not experimental, offsets, @, subqueries and errors. @ is
// written with the placeholder BASE, which At replaces.
func Queries() []string {
	var all []string
	all = append(all, selectors...)
	all = append(all, aggregations()...)
	all = append(all, functions()...)
	all = append(all, operators()...)
	all = append(all, times...)
	return append(all, mistakes...)
}

var selectors = []string{
	`load`, `load{instance="a"}`, `load{instance!="a"}`, `load{instance=~"a|b"}`, `load{instance=~"[a-c]"}`, `load{instance!~"a|b"}`, `load{instance=~".+"}`,
	`load{instance=~".*"}`, `load{instance!~""}`, `load{nothing=""}`, `load{nothing=~"x?"}`, `load{nothing!="x"}`, `load{nothing!~".+"}`, `load{room=""}`,
	`{__name__="load"}`, `{__name__=~"load|temperature"}`, `{__name__=~"se.*_(sum|count)"}`, `{__name__!="load",instance="a"}`, `{__name__!~"req.*",job="db"}`,
	`{job="web",instance!="a"}`, `{instance=~"a.*",job!=""}`, `{path="/x y/é"}`, `{path=~"/x.*é"}`, `requests_total{code=~"4..|5.."}`, `requests_total{code!~"2..",job="web"}`,
	`requests_total{job=~"(?i)WEB"}`, `nothing`, `late`, `early`, `odd`, `info_of`, `load{instance=~"^(?:a)$"}`, `load{instance=~"a",instance!="b"}`, `{le="+Inf"}`,
}

// aggregations returns each aggregation, plain, by and without labels.
func aggregations() (all []string) {
	for _, op := range []string{"sum", "avg", "min", "max", "count", "group", "stddev", "stdvar"} {
		all = append(all, op+"(load)", op+" by (job) (load)", op+" without (instance, code) (requests_total)", op+" by (nothing) (temperature)")
	}
	for _, op := range []string{"topk(2, ", "bottomk(2, ", "quantile(0.3, ", `count_values("value", `} {
		all = append(all, op+"load)", op+"requests_total) by (job)", op+"temperature) without (room)")
	}
	return append(all, `quantile(2, load)`, `quantile(-1, load)`, `topk(0, load)`, `topk(99, load)`, `sum(load) by (job, instance)`, `count(count by (code) (requests_total))`,
		`count_values by (job) ("v", round(temperature, 5))`, `sum(nothing)`)
}

func functions() (all []string) {
	for _, f := range []string{
		"abs", "ceil", "floor", "round", "exp", "ln", "log2", "log10", "sqrt", "sgn", "deg", "rad", "sin", "cos", "tan", "asin", "acos", "atan",
		"sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sort", "sort_desc", "timestamp", "absent", "scalar",
	} {
		all = append(all, f+"(load)", f+`(odd)`)
	}
	for _, f := range []string{"minute", "hour", "day_of_week", "day_of_month", "day_of_year", "days_in_month", "month", "year"} {
		all = append(all, f+"()", f+"(temperature * 1e8)")
	}
	for _, f := range []string{"avg", "min", "max", "sum", "count", "stddev", "stdvar", "last", "present", "absent"} {
		all = append(all, f+"_over_time(load[1m])", f+"_over_time(odd[5m])", f+`_over_time({job="web",instance="a"}[30s])`)
	}
	for _, f := range []string{"rate", "increase", "irate", "delta", "idelta", "resets", "changes", "deriv"} {
		all = append(all, f+"(requests_total[1m])", f+`(requests_total{code="200"}[5m])`, f+"(load[2m])", f+"(late[5m])", f+"(early[5m])")
	}
	return append(all,
		`quantile_over_time(0.9, load[2m])`, `quantile_over_time(2, load[2m])`, `predict_linear(load[5m], 600)`, `predict_linear(temperature[10m], -60)`, `round(load, 0.5)`,
		`clamp(load, -1, 1)`, `clamp_min(load, 0)`, `clamp_max(load, 0)`, `clamp(load, 1, -1)`, `vector(1)`, `scalar(info_of)`, `vector(scalar(info_of))`, `pi()`, `time()`,
		`absent(nothing{a="b",c=~"d"})`, `absent_over_time(nothing{a="b"}[5m])`,
		`label_replace(load, "host", "h-$1", "instance", "(.*)")`, `label_replace(load, "host", "$2", "instance", "(.*)")`, `label_replace(load, "job", "", "job", "web")`,
		`label_replace(load, "x", "${n}", "instance", "(?P<n>[ab])")`, `label_join(load, "both", "-", "job", "instance")`, `label_join(load, "none", "-")`,
		`histogram_quantile(0.9, seconds_bucket)`, `histogram_quantile(0.5, sum by (le) (rate(seconds_bucket[1m])))`, `histogram_quantile(1.1, seconds_bucket)`,
		`histogram_quantile(0, rate(seconds_bucket{job="web"}[5m]))`, `rate(seconds_sum[5m]) / rate(seconds_count[5m])`, `sum(rate(requests_total{code=~"5.."}[5m])) / sum(rate(requests_total[5m]))`,
	)
}

// operators returns each operator, between vectors and between a vector and a number.
func operators() (all []string) {
	for _, op := range []string{"+", "-", "*", "/", "%", "^", "atan2"} {
		all = append(all, "load "+op+" on (instance, job) temperature", "load "+op+" 2", "2 "+op+" load", "7 "+op+" 2")
	}
	for _, op := range []string{"==", "!=", ">", "<", ">=", "<="} {
		all = append(all, "load "+op+" 0.5", "0.5 "+op+" load", "load "+op+" bool 0.5", "load "+op+" ignoring (room) temperature", "load "+op+" bool on (instance) temperature", "1 "+op+" bool 1")
	}
	for _, op := range []string{"and", "or", "unless"} {
		all = append(all, `load `+op+` load{job="web"}`, `load{job="db"} `+op+` on (instance) temperature`, `load `+op+` ignoring (room) temperature{job="web"}`)
	}
	return append(all, `-load`, `+load`, `-(load + 1)`, `2 ^ 3 ^ 2`, `-2 ^ 2`, `1 + 2 * 3 % 2`,
		`requests_total / on (instance) group_left load`, `load * on (instance) group_right (code) requests_total`, `requests_total * on (instance) group_left (room) temperature`,
		`requests_total / ignoring (code) group_left sum without (code) (requests_total)`, `sum by (job) (load) / count by (job) (load)`, `load > 0 and load < 2`, `(load > 0) or (temperature < 30)`,
		`load == load`, `load / 0`, `0 / (load * 0)`, `1 / 0`, `0 / 0`, `Inf`, `NaN`, `0x1F`, `1e3`, `"text"`)
}

var times = []string{
	`load offset 1m`, `load offset -1m`, `load offset 1h`, `sum(load offset 5m)`, `rate(requests_total[1m] offset 5m)`, `rate(requests_total[1m] offset -2m)`, `load @ BASE`, `load @ BASE offset 1m`,
	`load offset 1m @ BASE`, `rate(requests_total[1m] @ BASE)`, `load @ start()`, `load @ end()`, `sum(rate(requests_total[2m] @ end()))`, `max_over_time(load[1m] @ BASE offset -30s)`,
	`max_over_time(load[5m:1m])`, `avg_over_time(load[10m:30s])`, `sum_over_time((load > 0)[5m:20s])`, `max_over_time(rate(requests_total[1m] offset 5s)[5m:10s])`, `rate(requests_total[5m:30s])`,
	`min_over_time(sum(load)[5m:1m] offset 2m)`, `avg_over_time(load[5m:1m] @ BASE)`, `max_over_time(avg_over_time(load[1m] offset 5s)[3m:30s])`, `count_over_time(load[10m:])`, `last_over_time(time()[5m:1m])`,
	`load[30s]`, `load[1m:20s]`, `requests_total{code="200",instance="a"}[1m] @ BASE`, `time() - timestamp(load)`, `changes(time()[5m:1m])`, `quantile_over_time(0.5, sum by (job) (load)[5m:1m])`,
}

var mistakes = []string{
	``, `1 +`, `load{`, `load{instance=}`, `load{instance=~"("}`, `{}`, `{instance=~".*"}`, `sum(`, `nosuch(load)`, `rate(load)`, `load[5m] + 1`, `load[0s]`, `load[5m`, `load offset`, `load @ x`,
	`load and 1`, `1 == 1`, `"a" + "b"`, `sum by (a,) (b) (c)`, `topk(load)`, `clamp(load)`, `load * on (job) temperature`, `load + on (instance) group_left requests_total`,
	`requests_total * on (instance) load`, `label_replace(load, "instance", "same", "", "")`, `label_replace(load, "a b!", "x", "job", ".*") + `, `label_replace(load, "x", "y", "job", "(")`,
	`histogram_quantile(load, 1)`, `absent(1)`, `time(1)`, `load bool 1`, `load > bool`, `avg_over_time(load)`, `scalar(1)`, `[5m]`, `load{a="b",}}`, `"unterminated`,
}

// At returns a query with BASE replaced by a time.
func At(query, base string) string { return strings.ReplaceAll(query, "BASE", base) }
