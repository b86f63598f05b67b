package server

import (
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/access"
)

// A guard says who sends the requests of the HTTP port, and lets in those whose sender may do what
// they ask.
type guard struct {
	// identify returns the user of a request. It may wait for its turn to check a password. The
	// error is a *refusedError. If identify is nil, every request may do everything.
	identify func(r *http.Request, client string) (*access.User, error)
	// need returns what a request needs; nil: nothing.
	need func(r *http.Request) need
	// challenges returns the values of the header WWW-Authenticate of an answer that asks for
	// credentials; none if no credentials are known.
	challenges func() []string
}

// A refusedError says why nobody was identified.
type refusedError struct {
	why  refusal
	text string
}

func (e *refusedError) Error() string { return e.text }

// check returns r with its user in the context.
func (g *guard) check(r *http.Request, client string) (*http.Request, error) {
	n := free
	if g.need != nil {
		n = g.need(r)
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
			return nil, &refusedError{refusedUser, "say who you are: this needs the role " + n.role.String()}
		}
		return nil, &refusedError{refusedRole, err.Error()}
	}
	if n.all {
		if err := u.NeedAll(); err != nil {
			return nil, &refusedError{refusedRole, err.Error()}
		}
	}
	if g.identify == nil {
		return r, nil
	}
	return r.WithContext(access.With(r.Context(), u)), nil
}

// admit returns r with its user in the context. If the sender may not do what r asks, admit answers
// the request and returns nil.
func (g *gate) admit(w http.ResponseWriter, r *http.Request, client string) *http.Request {
	in, err := g.guard.check(r, client)
	if err == nil {
		return in
	}
	var e *refusedError
	if !errors.As(err, &e) {
		e = &refusedError{refusedUser, err.Error()}
	}
	if e.why == refusedUser {
		for _, c := range g.guard.challenges() {
			w.Header().Add("WWW-Authenticate", c)
		}
	}
	g.refuseWith(w, r, e.why, e.text)
	return nil
}

// refuseWith answers a refused request in the form of its protocol, and counts it.
func (g *gate) refuseWith(w http.ResponseWriter, r *http.Request, why refusal, text string) {
	g.refused[why].Add(1)
	end(w, r)
	t := refusalTexts[why]
	if e := connect.NewErrorWriter(); e.IsSupported(r) {
		_ = e.Write(w, r, connect.NewError(t.rpc, errors.New(text))) // the client may be gone
		return
	}
	if t.code == http.StatusServiceUnavailable || t.code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.Error(w, text+".", t.code)
}
