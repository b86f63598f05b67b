package middleware

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rondo-db/rondo/internal/access"
)

// TestLimitedUsersAreKeptFromTheWhole: each permission that is about all series refuses a user who
// is limited to folders, and each role refuses the role before it.
func TestLimitedUsersAreKeptFromTheWhole(t *testing.T) {
	for path, n := range Permissions {
		for _, u := range []*access.User{
			{Name: "reader", Role: access.Read},
			{Name: "writer", Role: access.Write},
			{Name: "admin", Role: access.Admin},
			{Name: "tenant", Role: access.Admin, Folders: []string{"a"}},
		} {
			g := Authorizer{
				Permission: func(*http.Request) Permission { return n },
				Identify:   func(*http.Request, string) (*access.User, error) { return u, nil },
				Challenges: func() []string { return nil },
			}
			r, err := g.check(httptest.NewRequest("POST", path, nil), "")
			want := u.Role >= n.Role && !(n.All && u.Limited())
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
	var m Routes
	m.Receive("/lines", "lines", http.NotFoundHandler())
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
		g := Authorizer{
			Permission: m.Permission,
			Identify: func(*http.Request, string) (*access.User, error) {
				return &access.User{Name: "sender", Role: tt.role, Folders: tt.folders}, nil
			},
			Challenges: func() []string { return nil },
		}
		if _, err := g.check(httptest.NewRequest(tt.method, "/lines", nil), ""); (err == nil) != tt.want {
			t.Errorf("%s with the role %v below %q: %v", tt.method, tt.role, tt.folders, err)
		}
	}
}
