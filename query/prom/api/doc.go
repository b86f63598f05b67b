// Package api answers Prometheus' HTTP API: queries in PromQL, the lists of series and labels that
// Grafana and promtool ask for, and remote read.
//
// [New] returns a [Handler] over any storage.Queryable; Prometheus' own engine evaluates the
// queries. Requests below [Prefix] go to the handler:
//
//	h := api.New(api.Config{Storage: series})
//	mux.Handle(api.Prefix, h)
//
// Answers, error types and status codes equal Prometheus 3.10's. A query that exceeds a limit ends
// with Prometheus' error. Few queries run at once, others wait, so that they take neither all
// processors nor all memory from those who append: see [Config] and limits.go.
package api
