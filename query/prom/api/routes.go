package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A route is a path of the API.
type route struct {
	Methods []string
	serve   func(w http.ResponseWriter, r *http.Request, name string)
	reads   bool // series
}

func (r route) takes(method string) bool { return slices.Contains(r.Methods, method) }

// labelValuesPath stands for the paths of all labels.
const labelValuesPath = "label/:name/values"

var (
	get  = []string{http.MethodGet}
	both = []string{http.MethodGet, http.MethodPost}
	post = []string{http.MethodPost}
)

// table returns the routes by what follows Prefix in their paths.
func (h *Handler) table() map[string]route {
	reads := func(methods []string, f endpoint) route { return route{methods, h.handle(f, true), true} }
	simple := func(methods []string, f endpoint) route { return route{methods, h.handle(f, false), false} }
	return map[string]route{
		"query":              reads(both, h.query),
		"query_range":        reads(both, h.queryRange),
		"series":             reads(both, h.series),
		"labels":             reads(both, h.labelNames),
		labelValuesPath:      reads(get, h.labelValues),
		"metadata":           reads(get, h.metadata),
		"read":               {post, h.remoteRead, true},
		"status/tsdb":        reads(get, h.tsdb),
		"query_exemplars":    simple(both, h.exemplars),
		"format_query":       simple(both, h.formatQuery),
		"parse_query":        simple(both, h.parseQuery),
		"rules":              simple(get, h.rules),
		"alerts":             simple(get, h.alerts),
		"status/buildinfo":   simple(get, h.buildInfo),
		"status/runtimeinfo": simple(get, h.runtimeInfo),
		"status/flags":       simple(get, h.flags),
		"targets":            simple(get, constant(`{"activeTargets":[],"droppedTargets":[],"droppedTargetCounts":{}}`)),
		"targets/metadata":   simple(get, constant(`[]`)),
		"scrape_pools":       simple(get, constant(`{"scrapePools":[]}`)),
		"alertmanagers":      simple(get, constant(`{"activeAlertmanagers":[],"droppedAlertmanagers":[]}`)),
		"status/config":      simple(get, constant(`{"yaml":""}`)),
		"status/walreplay":   simple(get, constant(`{"min":0,"max":0,"current":0}`)),
		"notifications":      simple(get, constant(`[]`)),
		"targets/relabel_steps": simple(get, func(*http.Request, string) (*result, error) {
			return nil, bad("no scrapePool parameter provided")
		}),
	}
}

// all are the routes, of no handler.
var all = new(Handler).table()

// Routes returns the paths of the API in order. A label's name in a path is written :name.
func Routes() []string {
	paths := slices.Sorted(maps.Keys(all))
	for i := range paths {
		paths[i] = Prefix + paths[i]
	}
	return paths
}

// Queries reports whether requests for a path read series. They wait for their turn, so they should
// not take the places of other requests meanwhile.
func Queries(path string) bool {
	path, ok := strings.CutPrefix(path, Prefix)
	return ok && (all[path].reads || strings.HasPrefix(path, "label/"))
}

// Endpoint returns the route, as Routes lists it, that a path belongs to; the path itself if it
// belongs to none.
func Endpoint(path string) string {
	if strings.HasPrefix(path, Prefix+"label/") && strings.HasSuffix(path, "/values") {
		return Prefix + labelValuesPath
	}
	return path
}
