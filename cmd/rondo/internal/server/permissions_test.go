package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// routed returns the handlers of the HTTP port of a server that is not running.
func routed(t *testing.T) (all, scrapes *middleware.Routes) {
	t.Helper()
	s := &server{Config: Config{DB: t.TempDir()}.withDefaults(), middleware: quietMiddleware(middleware.DefaultBounds(0)), store: enginetest.Open(t)}
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
	for _, m := range []*middleware.Routes{all, scrapes} {
		for _, path := range m.Paths() {
			known[path] = true
		}
	}
	for path := range known {
		if _, ok := middleware.Permissions[path]; !ok {
			t.Errorf("the table of permissions does not say who may use %s", path)
		}
	}
	for path := range middleware.Permissions {
		if !known[path] {
			t.Errorf("the table of permissions names %s, which the server does not answer", path)
		}
	}
}

// TestPermissionOfRequest: a request needs what the handler that answers it needs, however its path
// is written.
func TestPermissionOfRequest(t *testing.T) {
	all, _ := routed(t)
	reads, readAll := middleware.Permission{Role: access.Read}, middleware.Permission{Role: access.Read, All: true}
	admins, whole := middleware.Permission{Role: access.Admin}, middleware.Permission{Role: access.Admin, All: true}
	for _, tt := range []struct {
		method, path string
		want         middleware.Permission
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
		if got := all.Permission(httptest.NewRequest(tt.method, tt.path, nil)); got != tt.want {
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
	if n := (&middleware.Routes{}).Permission(httptest.NewRequest("GET", "/unknown", nil)); n != whole {
		t.Errorf("a path without a route needs %v, want %v", n, whole)
	}
}
