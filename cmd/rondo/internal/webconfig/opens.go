package webconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/internal/access"
)

// A file that is read again may close what is open, but never opens what is closed: it may have
// been emptied, or cut off, by a full disk or an editor. What is named by words of its own, such as
// the role of a user or a new token, is taken. What follows from something that is missing, and
// what is let in without credentials, needs a restart.

// errRestart is the end of every error of opens.
var errRestart = errors.New("if that is meant, restart the server")

// opens returns an error if the configuration would let in somebody without words of their own whom
// the configuration was does not let in.
func (c *Config) opens(was *Config) error {
	open := func(format string, args ...any) error {
		return fmt.Errorf("--web-config would open what is closed: "+format+": %w", append(args, errRestart)...)
	}
	if c.anonymous != nil && wider(c.anonymous, was.anonymous) {
		return open("requests without credentials would have the role %s", c.anonymous.Role)
	}
	if c.tls != nil && was.tls != nil {
		if need := tls.RequireAndVerifyClientCert; was.tls.ClientAuth == need && c.tls.ClientAuth != need {
			return open("clients would need no certificate")
		}
		if was.tls.VerifyConnection != nil && c.tls.VerifyConnection == nil {
			return open("client_allowed_sans is missing")
		}
	}
	for _, name := range c.implied {
		if u := was.users[name]; u != nil && wider(c.users[name], u) {
			return open("the entry of %s in users is missing, and %s would have the role %s", name, name, c.users[name].Role)
		}
	}
	for _, of := range []string{HTTPListener, RRDCachedListener} {
		keys := append([]string{of}, slices.Concat(c.Addresses(), was.Addresses())...)
		for _, key := range keys {
			l, old := c.Listener(of, key), was.Listener(of, key)
			if old.Auth && !l.Auth || wider(l.Cap(access.Everything()), old.Cap(access.Everything())) {
				return open("listeners: more would be allowed at %s", key)
			}
		}
	}
	return nil
}

// wider reports whether a user may do something that another one may not; nil may do nothing.
func wider(u, than *access.User) bool {
	switch {
	case u.Role == access.None:
		return false
	case than == nil || u.Role > than.Role:
		return true
	case !than.Limited():
		return false
	}
	return !u.Limited() || !slices.Equal(access.Within(u.Folders, than.Folders), u.Folders)
}
