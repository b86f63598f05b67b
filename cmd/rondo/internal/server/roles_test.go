package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// routed returns the handlers of the HTTP port of a server that is not running.
func routed(t *testing.T) (all, scrapes *routes) {
	t.Helper()
	s := &server{Config: Config{DB: t.TempDir()}.withDefaults(), middleware: quietMiddleware(defaultBounds(0)), store: enginetest.Open(t)}
	s.receivers = newManager(s)
	s.rpc, s.pages = s.newRPC(), nil
	s.pages = s.newPages()
	s.queries = s.newQueries()
	return s.handlers()
}

// TestEveryRouteNeedsARole: a procedure or a route that is not in the table could be called only by
// admins, and nobody would have decided so.
func TestEveryRouteNeedsARole(t *testing.T) {
	known := make(map[string]bool)
	services := rondov1.File_rondo_proto.Services()
	for i := range services.Len() {
		for k := range services.Get(i).Methods().Len() {
			known["/"+string(services.Get(i).FullName())+"/"+string(services.Get(i).Methods().Get(k).Name())] = true
		}
	}
	all, scrapes := routed(t)
	for _, m := range []*routes{all, scrapes} {
		for _, p := range m.patterns {
			known[pathOf(p)] = true
		}
	}
	for path := range known {
		if _, ok := permissions[path]; !ok {
			t.Errorf("the table needs of needs.go does not say who may use %s", path)
		}
	}
	for path := range permissions {
		if !known[path] {
			t.Errorf("the table needs of needs.go names %s, which the server does not answer", path)
		}
	}
}

// TestPermissionOfRequest: a request needs what the handler that answers it needs, however its path
// is written.
func TestPermissionOfRequest(t *testing.T) {
	all, _ := routed(t)
	for _, tt := range []struct {
		method, path string
		want         permission
	}{
		{"POST", "/rondo.v1.Rondo/Drop", admins},
		{"GET", "/rondo.v1.Rondo/Fetch", reads},
		{"GET", "/metrics", readAll},
		{"POST", "/metrics", readAll},
		{"GET", "/", reads},
		{"GET", "/series/rondo.v1.Rondo/Drop", reads},
		{"GET", "/rondo.proto", reads},
		{"GET", "/rondo_types.proto", reads},
		{"POST", "/rondo.v1.Rondo/Drop/", reads}, // the answer is 404
		{"POST", "/rondo.v1.Rondo/Backup", whole},
		{"POST", "/rondo.v1.Rondo/Control", whole},
	} {
		if got := all.permission(httptest.NewRequest(tt.method, tt.path, nil)); got != tt.want {
			t.Errorf("%s %s needs %v, want %v", tt.method, tt.path, got, tt.want)
		}
	}
	for _, path := range []string{"//rondo.v1.Rondo/Drop", "/series/../rondo.v1.Rondo/Drop", "/rondo.v1.Rondo/Drop/"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("Content-Type", "application/json")
		all.ServeHTTP(w, r)
		if w.Code == http.StatusOK || w.Body.Len() > 0 && w.Body.String()[0] == '{' {
			t.Errorf("%s is answered by the procedure: %d %s", path, w.Code, w.Body)
		}
	}
	if n := (&routes{}).permission(httptest.NewRequest("GET", "/unknown", nil)); n != whole {
		t.Errorf("a path without a route needs %v, want %v", n, whole)
	}
}

// TestLimitedUsersAreKeptFromTheWhole: each permission that is about all series refuses a user who
// is limited to folders, and each role refuses the role before it.
func TestLimitedUsersAreKeptFromTheWhole(t *testing.T) {
	for path, n := range permissions {
		for _, u := range []*access.User{
			{Name: "reader", Role: access.Read},
			{Name: "writer", Role: access.Write},
			{Name: "admin", Role: access.Admin},
			{Name: "tenant", Role: access.Admin, Folders: []string{"a"}},
		} {
			g := authorizer{
				permission: func(*http.Request) permission { return n },
				identify:   func(*http.Request, string) (*access.User, error) { return u, nil },
				challenges: func() []string { return nil },
			}
			r, err := g.check(httptest.NewRequest("POST", path, nil), "")
			want := u.Role >= n.role && !(n.all && u.Limited())
			if (err == nil) != want {
				t.Errorf("%s at %s: %v", u, path, err)
			}
			if err == nil && n != free && access.From(r.Context()) != u {
				t.Errorf("%s at %s: the context has another user", u, path)
			}
		}
	}
}

// TestLimitedUsersSend: a user who was limited to folders could send nothing to a receiver, not
// even to one whose series all are in these folders.
func TestLimitedUsersSend(t *testing.T) {
	var m routes
	m.receive("/lines", "lines", http.NotFoundHandler())
	for _, tt := range []struct {
		method  string
		role    access.Role
		folders []string
		want    bool
	}{
		{"POST", access.Write, nil, true},
		{"POST", access.Write, []string{"lines"}, true},
		{"POST", access.Write, []string{"other", "lines"}, true},
		{"POST", access.Write, []string{"lines/mine"}, false},
		{"POST", access.Write, []string{"other"}, false},
		{"POST", access.Write, []string{}, false},
		{"POST", access.Read, []string{"lines"}, false},
		{"GET", access.Read, []string{"lines"}, true},
		{"GET", access.Read, []string{"line"}, false},
		{"HEAD", access.Read, nil, true},
	} {
		g := authorizer{
			permission: m.permission,
			identify: func(*http.Request, string) (*access.User, error) {
				return &access.User{Name: "sender", Role: tt.role, Folders: tt.folders}, nil
			},
			challenges: func() []string { return nil },
		}
		if _, err := g.check(httptest.NewRequest(tt.method, "/lines", nil), ""); (err == nil) != tt.want {
			t.Errorf("%s with the role %v below %q: %v", tt.method, tt.role, tt.folders, err)
		}
	}
}
