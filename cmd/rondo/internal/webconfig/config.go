package webconfig

import (
	"cmp"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/allowance"
)

// A Config is what a file says. It does not change.
type Config struct {
	tls       *tls.Config // nil: no TLS
	http2     bool
	headers   http.Header
	rate      *allowance.Allowances // of rate_limit, which all requests share; nil: none
	passwords map[string][]byte     // bcrypt hashes by user
	cost      int                   // of the costliest of them
	users     map[string]*access.User
	tokens    map[[hashBytes]byte]*token
	certs     []certificateSection
	anonymous *access.User // nil: nobody
	implied   []string     // users with a password whose rights no entry names
	listeners map[string]Listener
	stamps    []stamp
}

// A token is what the holder of a bearer token may do, and until when.
type token struct {
	user    *access.User
	expires time.Time // zero: never
}

// A Listener is what the file says about one listener.
type Listener struct {
	Role    access.Role // the most that anybody may do there
	Folders []string    // the folders that anybody reaches there; nil: all
	TLS     bool        // rrdcached's listeners: TLS with the certificate of the file
	Auth    bool        // rrdcached's listeners: the first line must be AUTH and a token
}

// Cap returns a user with no more than the listener allows.
func (l Listener) Cap(u *access.User) *access.User {
	if l.Role >= u.Role && l.Folders == nil {
		return u
	}
	return &access.User{Name: u.Name, Role: min(u.Role, l.Role), Folders: access.Within(u.Folders, l.Folders)}
}

// HTTPListener and RRDCachedListener are the keys of listeners. They stand for all addresses of
// --http, and of --rrdcached, that have no key of their own.
const (
	HTTPListener      = "http"
	RRDCachedListener = "rrdcached"
)

// maxCost is the most that a bcrypt hash may cost: a check takes some seconds.
const maxCost = 16

// load reads a file and the files that it names. It returns the stamps of all files it has looked
// at, also with an error.
func load(file string) (c *Config, stamps []stamp, err error) {
	r := &reader{file: file}
	data, err := r.read(file)
	if err != nil {
		return nil, r.stamps, fmt.Errorf("--web-config: %w", err)
	}
	doc, err := parse(file, data)
	if err == nil {
		c, err = newConfig(r, doc)
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err != nil {
		return nil, r.stamps, fmt.Errorf("--web-config %w", err)
	}
	c.stamps = r.stamps
	return c, r.stamps, nil
}

func newConfig(r *reader, doc *document) (*Config, error) {
	c := &Config{
		http2: true, headers: make(http.Header), passwords: make(map[string][]byte), users: make(map[string]*access.User),
		tokens: make(map[[hashBytes]byte]*token), listeners: make(map[string]Listener),
	}
	if err := c.setTLS(r, doc.TLS); err != nil {
		return nil, fmt.Errorf("tls_server_config: %w", err)
	}
	if err := c.setHTTP(doc.HTTP); err != nil {
		return nil, fmt.Errorf("http_server_config: %w", err)
	}
	switch l := doc.RateLimit; {
	case l == nil || l.Interval == 0:
	case l.Interval < 0 || l.Burst < 1:
		return nil, errors.New("rate_limit: want an interval of 0 or more, and a burst of 1 or more")
	default:
		c.rate = &allowance.Allowances{Burst: float64(l.Burst), Rate: 1 / l.Interval.Seconds()}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Users)) {
		hash := []byte(doc.Users[name])
		cost, err := bcrypt.Cost(hash)
		switch {
		case name == "" || strings.Contains(name, ":"):
			return nil, fmt.Errorf("basic_auth_users: %q is no name: it is empty or has a colon", name)
		case err != nil:
			return nil, fmt.Errorf("basic_auth_users: the value of %s is no bcrypt hash: rondo password makes one", name)
		case cost > maxCost:
			return nil, fmt.Errorf("basic_auth_users: the hash of %s has the cost %d, at most %d is possible", name, cost, maxCost)
		}
		c.passwords[name], c.cost = hash, max(c.cost, cost)
	}
	s := cmp.Or(doc.Rondo, new(rondoSection))
	if err := c.setRoles(s); err != nil {
		return nil, fmt.Errorf("rondo: %w", err)
	}
	if s.Anonymous == "" && !c.knowsUsers() && (doc.who || doc.empty()) {
		return nil, errNobody
	}
	return c, nil
}

// errNobody refuses a file that names nobody, such as one that was cut off while it was written. A
// file about TLS or headers alone means what it means to other programs: nobody is asked.
var errNobody = errors.New("it names no password, token or certificate, so that everybody would be an admin. If that is meant, write rondo: {anonymous: admin}")

// setRoles sets who may do what.
func (c *Config) setRoles(s *rondoSection) error {
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		g := s.Users[name]
		u, err := g.user(name)
		if err != nil {
			return fmt.Errorf("users: %w", err)
		}
		c.users[name] = u
	}
	for _, name := range slices.Sorted(maps.Keys(c.passwords)) {
		if c.users[name] == nil {
			c.implied = append(c.implied, name)
			c.users[name] = &access.User{Name: name, Role: access.Read}
			if s.Users == nil { // the file of another program
				c.users[name].Role = access.Admin
			}
		}
	}
	for i := range s.Tokens {
		if err := c.addToken(&s.Tokens[i]); err != nil {
			return fmt.Errorf("tokens: %w", err)
		}
	}
	if err := c.setCertificates(s.Certificates); err != nil {
		return fmt.Errorf("client_certificates: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		if c.passwords[name] == nil && !slices.ContainsFunc(c.certs, func(r certificateSection) bool { return r.User == name }) {
			return fmt.Errorf("users: %s has no password in basic_auth_users and no certificate: nobody can be %s", name, name)
		}
	}
	if s.Anonymous != "" {
		role, err := access.ParseRole(s.Anonymous)
		if err != nil {
			return fmt.Errorf("anonymous: %w", err)
		}
		if role > access.None {
			c.anonymous = &access.User{Role: role}
		}
	} else if !c.knowsUsers() {
		c.anonymous = access.Everything()
	}
	return c.setListeners(s.Listeners)
}

// knowsUsers reports whether there are credentials by which a user is known.
func (c *Config) knowsUsers() bool { return len(c.passwords)+len(c.tokens)+len(c.certs) > 0 }

func (g *grant) user(name string) (*access.User, error) {
	role, folders, err := g.rights(name)
	if err == nil && name == "" {
		err = errors.New("a name is missing")
	}
	return &access.User{Name: name, Role: role, Folders: folders}, err
}

// rights returns what somebody may do. The error names them.
func (g *grant) rights(name string) (role access.Role, folders []string, err error) {
	if role, err = access.ParseRole(g.Role); err != nil {
		return role, nil, fmt.Errorf("%s: %w", name, err)
	}
	if g.Prefixes != nil {
		if folders, err = access.Folders(g.Prefixes); err != nil {
			return role, nil, fmt.Errorf("%s: prefixes: %w", name, err)
		}
	}
	return role, folders, nil
}

func (c *Config) addToken(t *tokenSection) error {
	u, err := t.user(t.Name)
	if err != nil {
		return err
	}
	var hash [hashBytes]byte
	if n, err := hex.Decode(hash[:], []byte(t.SHA256)); err != nil || n != hashBytes || len(t.SHA256) != 2*hashBytes {
		return fmt.Errorf("%s: sha256 is not %d hexadecimal digits: rondo token new prints a token and its hash", t.Name, 2*hashBytes)
	}
	if c.tokens[hash] != nil {
		return fmt.Errorf("%s has the token of %s", t.Name, c.tokens[hash].user.Name)
	}
	k := &token{user: u}
	if t.Expires != "" {
		if k.expires, err = parseExpires(t.Expires); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	c.tokens[hash] = k
	return nil
}

// parseExpires returns the time of a text: of a day its beginning, in UTC.
func parseExpires(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("expires %.40q: want 2030-12-31 or 2030-12-31T23:59:59Z", text)
}

// CheckExpires returns an error if a text is no time of expiry.
func CheckExpires(text string) error {
	_, err := parseExpires(text)
	return err
}

func (c *Config) setCertificates(rules []certificateSection) error {
	if len(rules) > 0 && (c.tls == nil || c.tls.ClientAuth < tls.VerifyClientCertIfGiven) {
		return errors.New("tls_server_config must have client_ca_file, and client_auth_type VerifyClientCertIfGiven or RequireAndVerifyClientCert")
	}
	for i, r := range rules {
		switch {
		case (r.CN == "") == (r.SAN == ""):
			return fmt.Errorf("entry %d: want either cn or san", i+1)
		case c.users[r.User] == nil:
			return fmt.Errorf("entry %d: there is no user %q in users", i+1, r.User)
		}
	}
	c.certs = rules
	return nil
}

func (c *Config) setListeners(all map[string]listenerSection) error {
	for name, s := range all {
		s.Role = cmp.Or(s.Role, access.Admin.String())
		role, folders, err := s.rights(name)
		switch {
		case err != nil:
			return fmt.Errorf("listeners: %w", err)
		case s.Auth != "" && s.Auth != "none" && s.Auth != "required":
			return fmt.Errorf("listeners: %s: auth %q: want none or required", name, s.Auth)
		case name == HTTPListener && (s.TLS || s.Auth != ""):
			return fmt.Errorf("listeners: %s has neither tls nor auth: tls_server_config turns TLS on, and anonymous says who needs credentials", name)
		case s.TLS && c.tls == nil:
			return fmt.Errorf("listeners: %s: tls is true, and there is no tls_server_config", name)
		case s.Auth == "required" && len(c.tokens) == 0:
			return fmt.Errorf("listeners: %s: auth is required, and there are no tokens", name)
		}
		c.listeners[name] = Listener{Role: role, Folders: folders, TLS: s.TLS, Auth: s.Auth == "required"}
	}
	return nil
}

// Listener returns what the file says about a listener. An address goes before a name.
func (c *Config) Listener(name, addr string) Listener {
	for _, key := range []string{addr, name} {
		if l, ok := c.listeners[key]; ok {
			return l
		}
	}
	return Listener{Role: access.Admin}
}

// Addresses returns the keys of listeners that are addresses.
func (c *Config) Addresses() (addrs []string) {
	for _, key := range slices.Sorted(maps.Keys(c.listeners)) {
		if key != HTTPListener && key != RRDCachedListener {
			addrs = append(addrs, key)
		}
	}
	return addrs
}
