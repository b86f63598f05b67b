package server

import (
	"errors"
	"net/http"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/internal/access"
)

// identify returns the user of a request, as the file of --web-config says.
func (s *server) identify(r *http.Request, client string) (*access.User, error) {
	u, err := s.web.Identify(r, client)
	if err == nil {
		return u, nil
	}
	why := refusedUser
	if errors.Is(err, webconfig.ErrTries) || errors.Is(err, webconfig.ErrRate) {
		why = refusedTries
	}
	return nil, &refusedError{why, err.Error()}
}

// secured reports whether the HTTP port lets in only those who have credentials.
func (s *server) secured() bool { return s.web != nil && s.web.Secured() }
