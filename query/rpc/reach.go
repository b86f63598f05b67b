package rpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/text"
)

// dialPatience is how long a client waits for a connection.
const dialPatience = 15 * time.Second

// dialHost connects to the host of a URL, with TLS if the URL says so.
func dialHost(ctx context.Context, u *url.URL, c *tls.Config) (net.Conn, error) {
	addr := u.Host
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil || u.Scheme != "https" {
		return conn, err
	}
	if c == nil {
		c = new(tls.Config)
	} else {
		c = c.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = u.Hostname()
	}
	c.NextProtos = []string{"http/1.1"} // HTTP/2 has no way to give up its connection
	t := tls.Client(conn, c)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return t, nil
}

// callingBy returns a client of HTTP whose requests have credentials, and whose errors say what is
// wrong with the way to the server at a URL. It follows no redirection, which could lead the
// credentials elsewhere.
func callingBy(t *http.Transport, url, authorization string) *http.Client {
	return &http.Client{
		Transport:     &way{t, url, authorization},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A way sends requests to one server.
type way struct {
	next          *http.Transport
	url           string
	authorization string
}

// RoundTrip sends a request.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.authorization != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", w.authorization)
	}
	a, err := w.next.RoundTrip(r)
	if err != nil {
		err = unreached(w.url, err)
		if w.next.DialContext != nil || r.Context().Err() != nil || errors.As(err, new(*UnreachedError)) {
			return nil, err
		}
		dial := func(ctx context.Context) (net.Conn, error) { return dialHost(ctx, r.URL, w.next.TLSClientConfig) }
		return nil, heard(r.Context(), w.url, dial, err)
	}
	if err := strange(w.url, a); err != nil {
		return nil, errors.Join(err, a.Body.Close())
	}
	return a, nil
}

// An UnreachedError says why no server of rondo could be asked.
type UnreachedError struct {
	URL string
	Why string
	err error
}

func (e *UnreachedError) Error() string { return e.URL + ": " + e.Why }

// Unwrap returns the error beneath.
func (e *UnreachedError) Unwrap() error { return e.err }

const noHTTP = "what listens there speaks no HTTP. A server of rrdcached's protocol is named without http://"

// probeTime bounds the question of heard.
const probeTime = 2 * time.Second

// heard returns err, the error of a connection to a server that broke off, or another one if what
// listens there does not answer as HTTP does. It asks by a connection of its own: if the first one
// ended while a request was being written, err does not say what came. Where nothing listens any
// more, the server has ended.
func heard(ctx context.Context, url string, dial func(context.Context) (net.Conn, error), err error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	conn, refused := dial(ctx)
	if refused != nil {
		return err
	}
	defer func() { _ = conn.Close() }()             // it was a question
	_ = conn.SetDeadline(time.Now().Add(probeTime)) // on an error the read fails too
	if first, e := probe(conn, len("HTTP/")); first == "HTTP/" || errors.Is(e, os.ErrDeadlineExceeded) {
		return err
	}
	return &UnreachedError{url, noHTTP, nil}
}

// probe asks something of a server of HTTP, and returns the first n bytes of the answer.
func probe(c net.Conn, n int) (string, error) {
	if _, err := io.WriteString(c, "HEAD / HTTP/1.1\r\nHost: rondo\r\nConnection: close\r\n\r\n"); err != nil {
		return "", err
	}
	first := make([]byte, n)
	_, err := io.ReadFull(c, first)
	return string(first), err
}

// unreached returns the error of a connection to a server in words that say what to do.
func unreached(url string, err error) error {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		dns     *net.DNSError
		why     string
	)
	switch {
	case errors.As(err, &unknown):
		why = "the server's certificate is signed by nobody whom this machine knows: --daemon-ca FILE names the certificate of its authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && time.Now().After(invalid.Cert.NotAfter):
		why = "the server's certificate has expired, at " + invalid.Cert.NotAfter.UTC().Format(time.RFC3339)
	case errors.As(err, &invalid):
		why = "the server's certificate is not valid: " + invalid.Error()
	case errors.As(err, &name):
		why = "the server's certificate is for another name: " + name.Error()
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		why = "the server speaks no TLS there: is it http:// instead?"
	case errors.As(err, &alert):
		why = "the server ends TLS: " + alert.Error() + ". If it wants a certificate, --daemon-tls CERT,KEY names one"
	case errors.As(err, &dns):
		why = "the name " + dns.Name + " is not known: " + dns.Err
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "connection refused: no server listens there"
	case strings.Contains(err.Error(), "malformed HTTP"):
		why = noHTTP
	default:
		return err
	}
	return &UnreachedError{url, why, err}
}

// mostStrange is how much of a strange answer an error quotes, in bytes.
const mostStrange = 300

// strange returns an error if an answer is not one of the services of rondo's protocols but plain
// text, or a page: a refusal of the port, or another program.
func strange(url string, a *http.Response) error {
	if !strings.Contains(a.Request.URL.Path, "/rondo.v1.") {
		return nil
	}
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	if kind == "application/json" || kind != "text/html" && kind != "text/plain" && (a.StatusCode == http.StatusOK || strings.HasPrefix(kind, "application/")) {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(a.Body, mostStrange)) // the error quotes what was read
	said := text.EscapeLines(strings.TrimSpace(string(bytes.ToValidUTF8(body, nil))))
	code, why := codeOf(a.StatusCode), fmt.Sprintf("the server answers %s: %s", a.Status, said)
	switch {
	case strings.Contains(said, "HTTP request to an HTTPS server"):
		why = "the server speaks TLS there: https:// is its address"
	case code == connect.CodeUnimplemented || kind == "text/html":
		why = fmt.Sprintf("what listens there takes no commands of this kind (%s): it is an older rondo, or another program", a.Status)
	case said == "":
		why = "the server answers " + a.Status
	}
	return connect.NewError(code, &UnreachedError{url, why, nil})
}

// codeOf returns the code that stands for a status of HTTP.
func codeOf(status int) connect.Code {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		return connect.CodeUnimplemented
	case http.StatusUnauthorized:
		return connect.CodeUnauthenticated
	case http.StatusForbidden:
		return connect.CodePermissionDenied
	}
	return connect.CodeUnavailable
}
