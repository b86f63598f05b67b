package middleware

import (
	"net/http"
	"strings"

	"github.com/rondo-db/rondo/internal/access"
)

// A Permission is what a request needs to be let in.
type Permission struct {
	Role access.Role
	// All: the answer is about all series, so that users who are limited to folders are refused.
	// The other routes show such users their own series only, by an access.View.
	All bool
	// Folder, if not empty, holds all series that the request may concern: users who are limited to
	// folders must reach all of it.
	Folder string
}

// What the entries of Permissions say.
var (
	free    = Permission{Role: access.None} // for everybody, who has said who they are or not
	reads   = Permission{Role: access.Read}
	readAll = Permission{Role: access.Read, All: true}
	writes  = Permission{Role: access.Write}
	admins  = Permission{Role: access.Admin}
	whole   = Permission{Role: access.Admin, All: true}
	saves   = Permission{Role: access.Write, All: true} // dashboards, which all users share
)

// Permissions is the one table of who may do what. It says what each procedure and each route of
// the HTTP port needs, by its path; a path that ends in a slash stands for all below it. What is
// missing here needs the role admin, and a test fails. The routes of receivers are not in it: what
// they need is what receiverPermission says.
//
// At rondo.sock, whose file says who may, the table does not count. Over HTTP what a command of
// Exec and Pipe needs depends on the command: access.Commands says so.
var Permissions = map[string]Permission{
	"/":                            reads,
	"/login":                       reads,
	"/rondo.proto":                 reads,
	"/rondo_types.proto":           reads,
	"/metrics":                     readAll,
	"/api/v1/":                     reads, // Prometheus' API
	"/grpc.health.v1.Health/Check": free,
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      reads,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": reads,
	"/rondo.v1.Rondo/":                reads, // what is no method of it: the answer is 404
	"/rondo.v1.Rondo/Alerts":          readAll,
	"/rondo.v1.Rondo/Alter":           admins,
	"/rondo.v1.Rondo/Backup":          whole,
	"/rondo.v1.Rondo/Charts":          reads,
	"/rondo.v1.Rondo/Check":           whole,
	"/rondo.v1.Rondo/Checkpoint":      whole,
	"/rondo.v1.Rondo/Control":         whole,
	"/rondo.v1.Rondo/Create":          writes, // with overwrite it needs admin: rpc.Server says so
	"/rondo.v1.Rondo/Dashboard":       reads,
	"/rondo.v1.Rondo/Dashboards":      reads,
	"/rondo.v1.Rondo/Drop":            admins,
	"/rondo.v1.Rondo/DropDashboard":   saves,
	"/rondo.v1.Rondo/Exec":            reads,
	"/rondo.v1.Rondo/Export":          reads,
	"/rondo.v1.Rondo/ExportMany":      reads,
	"/rondo.v1.Rondo/Fetch":           reads,
	"/rondo.v1.Rondo/FetchMany":       reads,
	"/rondo.v1.Rondo/Hosts":           reads,
	"/rondo.v1.Rondo/Import":          writes, // with overwrite it needs admin, as Create does
	"/rondo.v1.Rondo/ImportMany":      writes, // likewise
	"/rondo.v1.Rondo/Info":            reads,
	"/rondo.v1.Rondo/Labels":          reads,
	"/rondo.v1.Rondo/Latest":          reads,
	"/rondo.v1.Rondo/List":            reads,
	"/rondo.v1.Rondo/Metadata":        reads,
	"/rondo.v1.Rondo/Notes":           reads,
	"/rondo.v1.Rondo/Pipe":            reads, // sessions, which are no method of the service
	"/rondo.v1.Rondo/Query":           reads,
	"/rondo.v1.Rondo/Rename":          admins,
	"/rondo.v1.Rondo/SaveDashboard":   saves,
	"/rondo.v1.Rondo/Search":          reads,
	"/rondo.v1.Rondo/SetMetadata":     writes,
	"/rondo.v1.Rondo/Stats":           readAll,
	"/rondo.v1.Rondo/Status":          readAll,
	"/rondo.v1.Rondo/Tail":            reads,
	"/rondo.v1.Rondo/Tree":            reads,
	"/rondo.v1.Rondo/Tune":            admins,
	"/rondo.v1.Rondo/Write":           writes,
	"/rondo.v1.Rondo/Xport":           reads,
	"/rondo.v1.Cluster/":              reads, // as for Rondo
	"/rondo.v1.Cluster/CheckReplicas": whole,
	"/rondo.v1.Cluster/Drain":         whole,
	"/rondo.v1.Cluster/Lead":          whole,
	"/rondo.v1.Cluster/Move":          whole,
	"/rondo.v1.Cluster/Release":       whole,
	"/rondo.v1.Cluster/State":         readAll,
}

// receiverPermission returns what a request to a receiver needs whose series all are below a
// folder. Their paths come from labels, so that a user who is limited to folders must reach the
// whole folder.
func receiverPermission(method, folder string) Permission {
	n := Permission{Role: access.Write, Folder: folder}
	if method == http.MethodGet || method == http.MethodHead {
		n.Role = access.Read
	}
	return n
}

// Routes is a ServeMux that knows its patterns.
type Routes struct {
	http.ServeMux
	patterns           []string
	receiverPermission map[string]string // the folder of a receiver's series, by the path of a route
}

// Receive registers the handler of a receiver's path, whose series all are below a folder.
func (m *Routes) Receive(path, folder string, h http.Handler) {
	if m.receiverPermission == nil {
		m.receiverPermission = make(map[string]string)
	}
	m.receiverPermission[path] = folder
	m.ServeMux.Handle(path, h)
}

// Handle registers the handler of a pattern.
func (m *Routes) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// Paths returns the paths of all patterns of Handle.
func (m *Routes) Paths() (paths []string) {
	for _, p := range m.patterns {
		paths = append(paths, pathOf(p))
	}
	return paths
}

// Permission returns what a request needs that m answers.
func (m *Routes) Permission(r *http.Request) Permission {
	if n, ok := Permissions[r.URL.Path]; ok {
		return n
	}
	_, pattern := m.Handler(r)
	if folder, ok := m.receiverPermission[pattern]; ok {
		return receiverPermission(r.Method, folder)
	}
	if n, ok := Permissions[pathOf(pattern)]; ok {
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

// An Authorizer says who sends the requests of the HTTP port, and lets in those whose sender may do
// what they ask.
type Authorizer struct {
	// Identify returns the user of a request. It may wait for its turn to check a password. The
	// error is a *rejectedError. If identify is nil, every request may do everything.
	Identify func(r *http.Request, client string) (*access.User, error)
	// Permission returns what a request needs; nil: nothing.
	Permission func(r *http.Request) Permission
	// Challenges returns the values of the header WWW-Authenticate of an answer that asks for
	// credentials; none if no credentials are known.
	Challenges func() []string
	// Headers sets headers of an answer; nil: none.
	Headers func(http.Header)
}

// check refuses a request whose user lacks the role that it needs. It returns any other one with
// its user in the context.
func (g *Authorizer) check(r *http.Request, client string) (*http.Request, error) {
	n := free
	if g.Permission != nil {
		n = g.Permission(r)
	}
	u := access.Everything()
	if g.Identify != nil && n != free {
		var err error
		if u, err = g.Identify(r, client); err != nil {
			return nil, err
		}
	}
	if err := u.Need(n.Role); err != nil {
		if u.Name == "" && len(g.Challenges()) > 0 {
			return nil, &RejectedError{Why: RejectedUser, Text: "say who you are: this needs the role " + n.Role.String()}
		}
		return nil, &RejectedError{Why: RejectedRole, Text: err.Error()}
	}
	var err error
	switch {
	case n.All:
		err = u.NeedAll()
	case n.Folder != "":
		err = u.Check(n.Folder)
	}
	if err != nil {
		return nil, &RejectedError{Why: RejectedRole, Text: err.Error()}
	}
	if g.Identify == nil {
		return r, nil
	}
	ctx := access.With(r.Context(), u)
	if n != free {
		asked := r
		ctx = access.WithAsk(ctx, func() (*access.User, error) { return g.Identify(asked, client) })
	}
	return r.WithContext(ctx), nil
}
