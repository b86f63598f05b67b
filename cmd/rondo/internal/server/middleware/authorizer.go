package middleware

import (
	"net/http"

	"github.com/rondo-db/rondo/internal/access"
)

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
