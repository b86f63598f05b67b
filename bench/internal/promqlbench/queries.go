package promqlbench

import (
	"net/url"
	"strconv"
	"strings"
)

// A query is a kind of request. Its text may differ from run to run.
type query struct {
	name string
	path string
	form func(run int) url.Values
}

// queries returns what is asked about n gauges and n counters whose last sample is at the second
// end.
func queries(n int, end int64) []query {
	instant := func(expr func(run int) string) func(int) url.Values {
		return func(run int) url.Values {
			return url.Values{"query": {expr(run)}, "time": {strconv.FormatInt(end, 10)}}
		}
	}
	hour := func(expr string) func(int) url.Values {
		return func(run int) url.Values {
			return url.Values{
				"query": {groupOf(expr, run, n)}, "step": {strconv.Itoa(step)},
				"start": {strconv.FormatInt(end-3600, 10)}, "end": {strconv.FormatInt(end, 10)},
			}
		}
	}
	always := func(expr string) func(int) string { return func(int) string { return expr } }
	few := strconv.Itoa(min(n, groupSize))
	return []query{
		{"sum of " + strconv.Itoa(n), "query", instant(always("sum by (rack) (load)"))},
		{"sum of " + strconv.Itoa(n) + " rates", "query", instant(always("sum by (rack) (rate(requests_total[5m]))"))},
		{"an hour of " + few, "query_range", hour(`load{group="$"}`)},
		{"an hour of " + few + " rates", "query_range", hour(`rate(requests_total{group="$"}[5m])`)},
		{"one of all", "query", instant(func(run int) string { return `load{instance="` + instance(spread(run, n)) + `"}` })},
		{"some by a prefix", "series", func(run int) url.Values {
			text := instance(spread(run, n))
			return url.Values{
				"match[]": {`load{instance=~"` + text[:len("host-0000")] + `.*"}`},
				"start":   {strconv.FormatInt(end-3600, 10)}, "end": {strconv.FormatInt(end, 10)},
			}
		}},
		{"values of a label", "label/instance/values", func(int) url.Values {
			return url.Values{"start": {strconv.FormatInt(end-3600, 10)}, "end": {strconv.FormatInt(end, 10)}}
		}},
	}
}

// groupOf puts a group into a query, another one each run. Groups that are not full are left out if
// there are others.
func groupOf(expr string, run, n int) string {
	return strings.ReplaceAll(expr, "$", "g"+strconv.Itoa(run%max(1, n/groupSize)))
}

// spread returns a number below n, and numbers far apart for runs one behind the other.
func spread(run, n int) int { return int(uint32(run) * 2654435761 % uint32(n)) }
