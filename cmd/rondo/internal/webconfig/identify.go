package webconfig

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/access"
)

// The reasons why nobody is identified.
var (
	// ErrNobody says that a request has no credentials and needs some.
	ErrNobody = errors.New("say who you are: this server needs a password, a token or a certificate")
	// ErrWrong says that the credentials of a request are not taken.
	ErrWrong = errors.New("the user, the password or the token is wrong, or has expired")
	// ErrTries says that too many credentials are being checked, or that a client has sent too many
	// wrong ones.
	ErrTries = errors.New("too many wrong passwords, or too many to check at once: try again in some seconds")
	// ErrRate says that there are more requests than rate_limit allows.
	ErrRate = errors.New("more requests than rate_limit allows: try again in a moment")
)

// hashBytes is the length of the hash that stands for a token.
const hashBytes = sha256.Size

// Identify returns the user of a request that comes by the HTTP port from a client, which is an
// address. at is the address of the port where it came in, as --http has it. Identify may wait for
// its turn to check a password. The error is one of this package's.
func (k *Keeper) Identify(r *http.Request, client, at string) (*access.User, error) {
	c := k.Config()
	if c.rate != nil && !c.rate.Spend("", 1, k.now()) {
		return nil, ErrRate
	}
	u, err := k.identify(c, r, client)
	if err != nil {
		return nil, err
	}
	return c.Listener(HTTPListener, at).Cap(u), nil
}

func (k *Keeper) identify(c *Config, r *http.Request, client string) (*access.User, error) {
	if values := r.Header.Values("Authorization"); len(values) > 0 && c.knowsUsers() {
		if len(values) > 1 {
			return nil, ErrWrong
		}
		scheme, value, _ := strings.Cut(values[0], " ")
		switch {
		case strings.EqualFold(scheme, "Basic"):
			name, password, ok := r.BasicAuth()
			if !ok {
				return nil, ErrWrong
			}
			return k.password(r, c, client, name, password)
		case strings.EqualFold(scheme, "Bearer"), strings.EqualFold(scheme, "Token"): // InfluxDB's word
			return c.token(strings.TrimSpace(value), k.now())
		}
		return nil, ErrWrong
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		if u := c.certified(r.TLS.PeerCertificates[0], k.now()); u != nil {
			return u, nil
		}
	}
	if c.anonymous == nil {
		return nil, ErrNobody
	}
	return c.anonymous, nil
}

func (k *Keeper) password(r *http.Request, c *Config, client, name, password string) (*access.User, error) {
	if len(c.passwords) == 0 {
		return nil, ErrWrong
	}
	hash, known := c.passwords[name]
	if !known {
		hash = blank(c.cost)
	}
	right, err := k.checker.check(r.Context(), client, name, password, hash, c.cost, k.now())
	switch {
	case err != nil:
		return nil, err
	case !right || !known:
		return nil, ErrWrong
	}
	return c.users[name], nil
}

// Token returns the user of a bearer token, with no more than a listener of rrdcached's protocol
// allows.
func (k *Keeper) Token(text string, l Listener) (*access.User, error) {
	u, err := k.Config().token(text, k.now())
	if err != nil {
		return nil, err
	}
	return l.Cap(u), nil
}

func (c *Config) token(text string, now time.Time) (*access.User, error) {
	t := c.tokens[sha256.Sum256([]byte(text))]
	if t == nil || !t.expires.IsZero() && !now.Before(t.expires) {
		return nil, ErrWrong
	}
	return t.user, nil
}

// certified returns the user of a certificate; nil if none has it. The certificate was checked when
// the connection began; that may be long ago.
func (c *Config) certified(cert *x509.Certificate, now time.Time) *access.User {
	if now.After(cert.NotAfter) {
		return nil
	}
	for _, r := range c.certs {
		if r.CN != "" && r.CN == cert.Subject.CommonName || r.SAN != "" && hasSAN(cert, r.SAN) {
			return c.users[r.User]
		}
	}
	return nil
}

// Challenges returns the values of the header WWW-Authenticate that ask for the credentials that
// the configuration knows.
func (k *Keeper) Challenges() (all []string) {
	c := k.current.Load()
	if len(c.passwords) > 0 {
		all = append(all, `Basic realm="rondo", charset="UTF-8"`)
	}
	if len(c.tokens) > 0 {
		all = append(all, `Bearer realm="rondo"`)
	}
	return all
}

// HashToken returns the hash that stands for a token in the file.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
