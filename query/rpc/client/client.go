package client

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// maxAnswer bounds one message of a server, in bytes.
const maxAnswer = 256 << 20

// Options say how to reach a server. The zero value has no credentials and believes the
// certificates that the machine believes.
type Options struct {
	// User and Password are sent as basic authentication, if User is not empty.
	User, Password string
	// Token is sent as a bearer token, if it is not empty.
	Token string
	// TLS is the configuration for https; nil means the default.
	TLS *tls.Config
}

// A Client speaks to one server. Its methods may be called at the same time.
type Client struct {
	// API has every method of the service Rondo.
	API rondov1.RondoClient

	transport *http.Transport
}

// New returns a client of the server at addr: "host:port", "http://host:port", "https://host:port",
// or a socket as "unix:/path". It does not connect; the first call does.
func New(addr string, o Options) (*Client, error) {
	t := &http.Transport{TLSClientConfig: o.TLS, ForceAttemptHTTP2: true}
	if name, ok := strings.CutPrefix(addr, "unix:"); ok {
		addr = "http://rondo.sock"
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", name)
		}
	}
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.200q is no address of a server: want http://HOST:PORT, https://HOST:PORT or unix:/PATH", addr)
	}
	authorization := ""
	switch {
	case o.User != "" && o.Token != "":
		return nil, fmt.Errorf("a user and a token are given: a server takes one of them")
	case o.User != "":
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password))
	case o.Token != "":
		authorization = "Bearer " + o.Token
	}
	h := &http.Client{Transport: authorized{t, authorization}}
	return &Client{API: rondov1.NewRondoClient(h, strings.TrimSuffix(addr, "/"), connect.WithReadMaxBytes(maxAnswer)), transport: t}, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// An authorized sends the credentials with each request.
type authorized struct {
	http.RoundTripper
	header string
}

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.header != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", a.header)
	}
	return a.RoundTripper.RoundTrip(r)
}

// List yields the series whose path begins with prefix and that match all of matchers. It ends
// after an error.
func (c *Client) List(ctx context.Context, prefix string, matchers ...*typesv1.Matcher) iter.Seq2[*rondov1.Series, error] {
	return func(yield func(*rondov1.Series, error) bool) {
		for page := ""; ; {
			r, err := c.API.List(ctx, &rondov1.ListRequest{Prefix: prefix, Matchers: matchers, Page: page})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, s := range r.GetSeries() {
				if !yield(s, nil) {
					return
				}
			}
			if page = r.GetNextPage(); page == "" {
				return
			}
		}
	}
}

// Backup writes a consistent copy of the whole store to w. It needs the role admin.
func (c *Client) Backup(ctx context.Context, w io.Writer) error { return c.BackupSince(ctx, w, nil) }

// BackupSince writes what has changed since another backup, whose head is given: as
// core.ReadBackupHead reads it from that backup and AppendBinary codes it. An empty head makes a
// backup of everything.
func (c *Client) BackupSince(ctx context.Context, w io.Writer, head []byte) error {
	stream, err := c.API.Backup(ctx, &rondov1.BackupRequest{Since: head})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // its error would say nothing new
	for stream.Receive() {
		if _, err := w.Write(stream.Msg().GetData()); err != nil {
			return err
		}
	}
	return stream.Err()
}
