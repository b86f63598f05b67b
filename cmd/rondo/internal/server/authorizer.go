package server

import (
	"net/http"

	"github.com/rondo-db/rondo/internal/access"
)

// An authorizer says who sends the requests of the HTTP port, and lets in those whose sender may do
// what they ask.
type authorizer struct {
	// identify returns the user of a request. It may wait for its turn to check a password. The
	// error is a *rejectedError. If identify is nil, every request may do everything.
	identify func(r *http.Request, client string) (*access.User, error)
	// permission returns what a request needs; nil: nothing.
	permission func(r *http.Request) permission
	// challenges returns the values of the header WWW-Authenticate of an answer that asks for
	// credentials; none if no credentials are known.
	challenges func() []string
	// headers sets headers of an answer; nil: none.
	headers func(http.Header)
}

// check returns r with its user in the context.
func (g *authorizer) check(r *http.Request, client string) (*http.Request, error) {
	n := free
	if g.permission != nil {
		n = g.permission(r)
	}
	u := access.Everything()
	if g.identify != nil && n != free {
		var err error
		if u, err = g.identify(r, client); err != nil {
			return nil, err
		}
	}
	if err := u.Need(n.role); err != nil {
		if u.Name == "" && len(g.challenges()) > 0 {
			return nil, &rejectedError{why: rejectedUser, text: "say who you are: this needs the role " + n.role.String()}
		}
		return nil, &rejectedError{why: rejectedRole, text: err.Error()}
	}
	if n.all {
		if err := u.NeedAll(); err != nil {
			return nil, &rejectedError{why: rejectedRole, text: err.Error()}
		}
	}
	if n.folder != "" {
		if err := u.Check(n.folder); err != nil {
			return nil, &rejectedError{why: rejectedRole, text: err.Error()}
		}
	}
	if g.identify == nil {
		return r, nil
	}
	ctx := access.With(r.Context(), u)
	if n != free {
		asked := r
		ctx = access.WithAsk(ctx, func() (*access.User, error) { return g.identify(asked, client) })
	}
	return r.WithContext(ctx), nil
}
