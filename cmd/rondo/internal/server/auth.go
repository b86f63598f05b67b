package server

import (
	"errors"
	"net/http"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/internal/access"
)

// identify returns the user of a request, as the file of --web-config says.
func (s *server) identify(r *http.Request, client string) (*access.User, error) {
	key := ""
	if e := middleware.ListenerOf(r); e != nil {
		key = e.Key
	}
	u, err := s.web.Identify(r, client, key)
	if err == nil {
		return u, nil
	}
	why := middleware.RejectedUser
	if errors.Is(err, webconfig.ErrTries) || errors.Is(err, webconfig.ErrRate) {
		why = middleware.RejectedTries
	}
	return nil, &middleware.RejectedError{Why: why, Text: err.Error()}
}

// secured reports whether the HTTP port lets in only those who have credentials.
func (s *server) secured() bool { return s.web != nil && s.web.Secured() }

// login asks a browser for name and password where pages are shown without them, and then shows the
// first page.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	if s.web != nil && access.From(r.Context()).Name == "" {
		if all := s.web.Challenges(); len(all) > 0 {
			w.Header()["Www-Authenticate"] = all
			w.Header().Set("X-Content-Type-Options", "nosniff")
			http.Error(w, "say who you are.", http.StatusUnauthorized)
			return
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
