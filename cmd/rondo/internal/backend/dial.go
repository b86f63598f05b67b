package backend

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/rondo-db/rondo/query/rpc"
)

// Credentials say who a command is where a server asks for it, and which servers it believes. The
// zero value says nothing. Files are read when a server is dialled.
type Credentials struct {
	Password, PasswordFile string // of the user in the address
	Token, TokenFile       string
	CA                     string // a file of certificates: a server's must be signed by one of them
	Pair                   string // the files of a certificate and of its key, with a comma between
}

// SameServer reports whether two addresses lead to one server.
func SameServer(addr, other string) bool {
	a, err := url.Parse(addr)
	b, e := url.Parse(other)
	return err == nil && e == nil && a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// dial connects to the server at t.Daemon.
func (t Target) dial(ctx context.Context) (*rpc.Client, error) {
	if strings.HasPrefix(t.Daemon, "unix:") || strings.HasPrefix(t.Daemon, "/") {
		return rpc.Dial(ctx, t.Daemon)
	}
	addr := t.Daemon
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil { // the error would quote a password
		return nil, errors.New("the address of the server is no URL: want http://HOST:PORT, https://HOST:PORT or unix:/FOLDER/rondo.sock")
	}
	var o rpc.Options
	if o.Authorization, err = t.Credentials.authorization(u.User); err != nil {
		return nil, err
	}
	if o.TLS, err = t.Credentials.tls(); err != nil {
		return nil, err
	}
	if o.Authorization != "" && u.Scheme == "http" && !loopback(u.Hostname()) && t.Notice != nil {
		t.Notice(fmt.Sprintf("what says who you are goes to %s without encryption: https:// would protect it", u.Host))
	}
	u.User = nil
	return rpc.DialWith(ctx, u.String(), o)
}

// authorization returns the header Authorization.
func (c Credentials) authorization(user *url.Userinfo) (string, error) {
	if user != nil {
		password, ok := user.Password()
		if !ok {
			var err error
			if password, err = secret(c.Password, c.PasswordFile, "the password"); err != nil {
				return "", err
			}
			if password == "" {
				return "", fmt.Errorf("the user %s has no password: RONDO_DAEMON_PASSWORD, or a file that --daemon-password-file names, has it", user.Username())
			}
		}
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)), nil
	}
	token, err := secret(c.Token, c.TokenFile, "the token")
	if err != nil || token == "" {
		return "", err
	}
	return "Bearer " + token, nil
}

// mostSecret bounds a file with a password or a token, in bytes.
const mostSecret = 64 << 10

// secret returns text, or else the first line of a file.
func secret(text, file, what string) (string, error) {
	if text != "" || file == "" {
		return text, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	line, _, _ := strings.Cut(string(b[:min(len(b), mostSecret)]), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return "", fmt.Errorf("%s: the first line of %s is empty", what, file)
	}
	return line, nil
}

// tls returns the configuration for https; nil: the default.
func (c Credentials) tls() (*tls.Config, error) {
	if c.CA == "" && c.Pair == "" {
		return nil, nil
	}
	config := new(tls.Config)
	if c.CA != "" {
		b, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("--daemon-ca: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("--daemon-ca: %s has no certificate in PEM", c.CA)
		}
	}
	if c.Pair != "" {
		cert, key, ok := strings.Cut(c.Pair, ",")
		if !ok {
			return nil, fmt.Errorf("--daemon-tls %s: want CERT,KEY", c.Pair)
		}
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("--daemon-tls: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
