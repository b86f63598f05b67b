package webconfig

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/access"
)

// lookEvery is how often a Keeper looks whether its files have changed while requests arrive.
const lookEvery = time.Second

// A Keeper keeps the newest configuration that could be read. Its methods may be called at the same
// time.
type Keeper struct {
	file    string // for the log
	read    func() (*Config, []stamp, error)
	log     *slog.Logger
	now     func() time.Time
	current atomic.Pointer[Config]
	looked  atomic.Int64 // when the files were last looked at, in Unix nanoseconds
	checker *checker

	mu     sync.Mutex // guards the fields below, and reading
	stamps []stamp    // of the files that were read last
	err    error      // why the files that were read last were not taken
	bucket bucket     // of rate_limit
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
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// Refresh reads the files again if one of them has changed. If they are wrong, the configuration
// stays as it was, the log says why, and Refresh returns the error.
func (k *Keeper) Refresh() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked.Store(k.now().UnixNano())
	if !slices.ContainsFunc(k.stamps, stamp.changed) {
		return k.err
	}
	c, stamps, err := k.read()
	if err == nil && (c.tls == nil) != (k.current.Load().tls == nil) {
		k.log.Warn("a changed setting needs a restart", "setting", "tls_server_config", "file", k.file)
		c.tls = k.current.Load().tls
	}
	k.stamps, k.err = stamps, err
	if err != nil {
		k.log.Error("web configuration not taken: everything stays as it is", "err", err)
		return err
	}
	k.current.Store(c)
	k.log.Info("web configuration read again", "file", k.file)
	return nil
}

// Config returns the configuration in force. It looks at the files if nobody has done so for a
// second.
func (k *Keeper) Config() *Config {
	was := k.looked.Load()
	if now := k.now().UnixNano(); now-was >= int64(lookEvery) && k.looked.CompareAndSwap(was, now) {
		_ = k.Refresh() // the log has the error, and so has Err
	}
	return k.current.Load()
}

// Secured reports whether the configuration in force lets in only those who have credentials.
func (k *Keeper) Secured() bool {
	c := k.current.Load()
	return c.anonymous == nil || c.tls != nil && c.tls.ClientAuth == tls.RequireAndVerifyClientCert
}

// HasTLS reports whether the configuration has a certificate.
func (k *Keeper) HasTLS() bool { return k.current.Load().tls != nil }

// TLS returns a configuration that uses, for each connection, the certificate that is in force
// then. protocols are those of ALPN, the best first; without http2 in the file, h2 is left out.
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
