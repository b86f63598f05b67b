package webconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/access"
)

const (
	lookEvery    = time.Second      // time between two looks at the files while requests arrive
	lookPatience = time.Second      // how long the request that began a look waits for it
	lookSlow     = 10 * time.Second // how long a look may take before that is a problem
)

// A Keeper keeps the newest configuration that could be read. Its methods may be called at the same
// time.
type Keeper struct {
	file    string // for the log
	read    func() (*Config, []stamp, error)
	log     *slog.Logger
	now     func() time.Time
	current atomic.Pointer[Config]
	looked  atomic.Int64 // when a look at the files began last, in Unix nanoseconds
	looking atomic.Bool  // a look that requests have begun has not ended
	checker *checker

	reading sync.Mutex // guards stamps; held while files are read, which may take for ever
	stamps  []stamp    // of the files that were read last

	mu  sync.Mutex // guards err
	err error      // why the files that were read last were not taken
}

// Open reads a file and those that it names.
func Open(file string, log *slog.Logger) (*Keeper, error) {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return open(file, log, func() (*Config, []stamp, error) { return load(file) })
}

// OpenPair reads the files of a certificate and its key, for TLS and nothing else.
func OpenPair(cert, key string, log *slog.Logger) (*Keeper, error) {
	return open(cert, log, func() (*Config, []stamp, error) {
		r := new(reader)
		c := &Config{anonymous: access.Everything()}
		if err := c.setTLS(r, &tlsSection{CertFile: cert, KeyFile: key}); err != nil {
			return nil, r.stamps, err
		}
		return c, r.stamps, nil
	})
}

func open(file string, log *slog.Logger, read func() (*Config, []stamp, error)) (*Keeper, error) {
	k := &Keeper{file: file, read: read, log: log, now: time.Now, checker: newChecker()}
	c, stamps, err := read()
	if err != nil {
		return nil, err
	}
	k.stamps = stamps
	k.current.Store(c)
	return k, nil
}

// Check reads a file and those that it names, and returns what is wrong with them.
func Check(file string) error {
	_, err := Open(file, slog.New(slog.DiscardHandler))
	return err
}

// Err returns why the files as they are now were not taken; nil: they were.
func (k *Keeper) Err() error {
	if began := time.Unix(0, k.looked.Load()); k.looking.Load() && k.now().Sub(began) > lookSlow {
		return fmt.Errorf("--web-config %s: the file system has not answered since %s", k.file, began.Format(time.TimeOnly))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// Refresh reads the files again if one of them has changed. If they are wrong, or would open what
// is closed, the configuration stays as it was, the log says why, and Refresh returns the error.
func (k *Keeper) Refresh() error {
	k.reading.Lock()
	defer k.reading.Unlock()
	if !slices.ContainsFunc(k.stamps, stamp.changed) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.err
	}
	c, stamps, err := k.read()
	k.stamps = stamps
	if was := k.current.Load(); err == nil {
		if (c.tls == nil) != (was.tls == nil) {
			k.log.Warn("a changed setting needs a restart", "setting", "tls_server_config", "file", k.file)
			c.tls = was.tls
		}
		err = c.opens(was)
	}
	k.mu.Lock()
	k.err = err
	k.mu.Unlock()
	if err != nil {
		k.log.Error("web configuration not taken: everything stays as it is", "err", err)
		return err
	}
	k.current.Store(c)
	k.log.Info("web configuration read again", "file", k.file)
	return nil
}

// Look is Refresh for callers that a file system must not stop. The files are read beside the
// caller, which waits a second for that at most. Only one look is under way at a time.
func (k *Keeper) Look() {
	if !k.looking.CompareAndSwap(false, true) {
		return
	}
	k.looked.Store(k.now().UnixNano())
	done := make(chan struct{})
	go func() { // nothing ends it while the file system hangs, so that nobody waits for it
		defer close(done)
		defer k.looking.Store(false)
		_ = k.Refresh() // the log has the error, and so has Err
	}()
	t := time.NewTimer(lookPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Config returns the configuration in force. It looks at the files if nobody has done so for a
// second.
func (k *Keeper) Config() *Config {
	if k.now().UnixNano()-k.looked.Load() >= int64(lookEvery) {
		k.Look()
	}
	return k.current.Load()
}

// Secured reports whether the configuration in force lets in only those who have credentials.
func (k *Keeper) Secured() bool {
	c := k.current.Load()
	return c.anonymous == nil || c.tls != nil && c.tls.ClientAuth == tls.RequireAndVerifyClientCert
}

// AsksNobody reports whether the configuration in force lets in requests without credentials that
// change something.
func (k *Keeper) AsksNobody() bool {
	c := k.current.Load()
	return !k.Secured() && c.anonymous.Role > access.Read
}

// HasTLS reports whether the configuration has a certificate.
func (k *Keeper) HasTLS() bool { return k.current.Load().tls != nil }

// TLS returns a configuration that uses, for each connection, the certificate that is in force
// then. protocols are ALPN's, the best first; without http2 in the file, h2 is left out.
func (k *Keeper) TLS(protocols ...string) *tls.Config {
	base := k.current.Load().tls.Clone()
	base.CipherSuites = nil // of each connection; package http looks at those here
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := k.Config()
		t := c.tls.Clone()
		t.NextProtos = slices.DeleteFunc(slices.Clone(protocols), func(p string) bool { return p == "h2" && !c.http2 })
		return t, nil
	}
	return base
}

// SetHeaders sets the headers of the file in an answer.
func (k *Keeper) SetHeaders(h http.Header) {
	for name, values := range k.current.Load().headers {
		h[name] = slices.Clone(values)
	}
}

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
