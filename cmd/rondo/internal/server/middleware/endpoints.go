package middleware

import (
	"slices"

	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/web"
)

// endpoints say how long requests took, by path. They do not change after the first request.
type endpoints map[string]*histogram.Histogram

// otherEndpoint is the name under which requests for unknown paths are counted.
const otherEndpoint = "other"

func newEndpoints() endpoints {
	e := make(endpoints)
	e.add(slices.Concat(rpc.Procedures(), api.Routes(), []string{"/", "/metrics", web.GraphPath, otherEndpoint}))
	return e
}

// add counts requests for further paths apart.
func (e endpoints) add(paths []string) {
	for _, path := range paths {
		e[path] = new(histogram.Histogram)
	}
}

// of returns the times of requests for a path.
func (e endpoints) of(path string) *histogram.Histogram {
	if web.Draws(path) {
		path = web.GraphPath
	}
	if h := e[api.Endpoint(path)]; h != nil {
		return h
	}
	return e[otherEndpoint]
}
