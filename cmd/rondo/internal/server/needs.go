package server

import (
	"net/http"
	"strings"

	"github.com/rondo-db/rondo/internal/access"
)

// A need is what a request needs to be let in.
type need struct {
	role access.Role
	// all: the answer is about all series, so that users who are limited to folders are refused.
	// The other routes show such users their own series only, by an access.View.
	all bool
}

// What the entries of needs say.
var (
	free    = need{role: access.None} // for everybody, who has said who they are or not
	reads   = need{role: access.Read}
	readAll = need{access.Read, true}
	writes  = need{role: access.Write}
	admins  = need{role: access.Admin}
	whole   = need{access.Admin, true}
	saves   = need{access.Write, true} // dashboards, whose texts name series of all folders
)

// needs is the one table of who may do what. It says what each procedure and each route of the HTTP
// port needs, by its path; a path that ends in a slash stands for all below it. What is missing
// here needs the role admin, and a test fails. The routes of receivers are not in it: what they
// need is receives, or for a GET asks.
//
// The procedures of the service Local are answered at rondo.sock only, whose file says who may.
var needs = map[string]need{
	"/":                             reads,
	"/login":                        reads,
	"/rondo.proto":                  reads,
	"/metrics":                      readAll,
	"/api/v1/":                      readAll, // Prometheus' API
	"/grpc.health.v1.Health/Check":  free,
	"/rondo.v1.Rondo/":              reads, // what is no method of it: the answer is 404
	"/rondo.v1.Rondo/Charts":        reads,
	"/rondo.v1.Rondo/Checkpoint":    whole,
	"/rondo.v1.Rondo/Create":        writes, // with overwrite it needs admin: rpc.Server says so
	"/rondo.v1.Rondo/Dashboard":     readAll,
	"/rondo.v1.Rondo/Dashboards":    readAll,
	"/rondo.v1.Rondo/Drop":          admins,
	"/rondo.v1.Rondo/DropDashboard": saves,
	"/rondo.v1.Rondo/Fetch":         reads,
	"/rondo.v1.Rondo/FetchMany":     reads,
	"/rondo.v1.Rondo/Info":          reads,
	"/rondo.v1.Rondo/Labels":        reads,
	"/rondo.v1.Rondo/Latest":        reads,
	"/rondo.v1.Rondo/List":          reads,
	"/rondo.v1.Rondo/Metadata":      reads,
	"/rondo.v1.Rondo/Notes":         reads,
	"/rondo.v1.Rondo/Rename":        admins,
	"/rondo.v1.Rondo/SaveDashboard": saves,
	"/rondo.v1.Rondo/Search":        reads,
	"/rondo.v1.Rondo/Stats":         readAll,
	"/rondo.v1.Rondo/Status":        readAll,
	"/rondo.v1.Rondo/Tree":          reads,
	"/rondo.v1.Rondo/Write":         writes,
	"/rondo.v1.Local/Backup":        whole,
	"/rondo.v1.Local/Check":         whole,
	"/rondo.v1.Local/Control":       whole,
	"/rondo.v1.Local/Exec":          whole,
	"/rondo.v1.Local/Export":        whole,
	"/rondo.v1.Local/Import":        whole,
}

// What the routes of receivers need. The paths of their series come from labels, so that users who
// are limited to folders are refused.
var (
	receives = need{access.Write, true}
	asks     = need{access.Read, true}
)

// routes is a ServeMux that knows its patterns.
type routes struct {
	http.ServeMux
	patterns []string
	received map[string]bool // the paths of receivers
}

// receive registers the handler of a receiver's path.
func (m *routes) receive(path string, h http.Handler) {
	if m.received == nil {
		m.received = make(map[string]bool)
	}
	m.received[path] = true
	m.ServeMux.Handle(path, h)
}

// Handle registers the handler of a pattern.
func (m *routes) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// need returns what a request needs that m answers.
func (m *routes) need(r *http.Request) need {
	if n, ok := needs[r.URL.Path]; ok {
		return n
	}
	_, pattern := m.Handler(r)
	switch {
	case m.received[pattern] && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return asks
	case m.received[pattern]:
		return receives
	}
	if n, ok := needs[pathOf(pattern)]; ok {
		return n
	}
	return whole
}

// pathOf returns the path of a pattern, without its method.
func pathOf(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		return path
	}
	return pattern
}
