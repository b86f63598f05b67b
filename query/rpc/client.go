package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/unixsocket"
)

// A Client speaks to one server.
type Client struct {
	rondov1.RondoClient
	// Far is Rondo over HTTP/2, which ImportMany needs because it streams both ways at once.
	Far rondov1.RondoClient
	// Cluster is for operators of a cluster.
	Cluster rondov1.ClusterClient

	http *http.Client
	url  string

	transport, streams *http.Transport
	dial               func(context.Context) (net.Conn, error) // for sessions
	socket             bool                                    // it is a server's socket
	host               string                                  // the header Host of sessions
	authorization      string                                  // the header Authorization; empty: none
}

// Options say how to reach a server over the network. The zero value has no credentials, and
// believes the certificates that the machine believes.
type Options struct {
	// Authorization is the header of that name; empty: none.
	Authorization string
	// TLS is the configuration for https; nil means the default.
	TLS *tls.Config
}

// Dial is [DialWith] without options.
func Dial(ctx context.Context, addr string) (*Client, error) { return DialWith(ctx, addr, Options{}) }

// DialWith returns a client of the server at addr: "host:port", a URL, or a socket as "unix:/path"
// or "/path", which takes no options. If nothing listens at a socket, DialWith fails; if nothing
// listens at another address, the first call fails.
func DialWith(ctx context.Context, addr string, o Options) (*Client, error) {
	if name, ok := strings.CutPrefix(addr, "unix:"); ok || strings.HasPrefix(addr, "/") {
		return dialSocket(ctx, name, 0)
	}
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.200q is no address of a server: want http://HOST:PORT, https://HOST:PORT or unix:/FOLDER/rondo.sock", addr)
	}
	u.User = nil
	t := &http.Transport{TLSClientConfig: o.TLS}
	c := newClient(t, strings.TrimSuffix(u.String(), "/"), o.Authorization)
	c.host = u.Host
	c.dial = func(ctx context.Context) (net.Conn, error) { return dialHost(ctx, u, o.TLS) }
	return c, nil
}

func newClient(t *http.Transport, url, authorization string, options ...connect.ClientOption) *Client {
	two := t.Clone()
	two.Protocols = new(http.Protocols)
	encrypted := strings.HasPrefix(url, "https:")
	two.Protocols.SetUnencryptedHTTP2(!encrypted)
	two.Protocols.SetHTTP2(encrypted)
	options = append(options, connect.WithReadMaxBytes(maxAnswerBytes), connect.WithInterceptors(clientChecker{}))
	limit := connect.WithClientOptions(options...)
	h, far := callingBy(t, url, authorization), callingBy(two, url, authorization)
	return &Client{
		RondoClient:   rondov1.NewRondoClient(h, url, limit),
		Far:           rondov1.NewRondoClient(far, url, limit),
		Cluster:       rondov1.NewClusterClient(h, url, limit),
		http:          h,
		url:           url,
		transport:     t,
		streams:       two,
		authorization: authorization,
	}
}

// IsSocket reports whether c speaks to a server's socket, where everything is allowed.
func (c *Client) IsSocket() bool { return c.socket }

// SendForm sends a form, by GET or POST, to a path of the server that is no procedure, such as a
// path of Prometheus' API. The caller closes the body of the answer.
func (c *Client) SendForm(ctx context.Context, method, path string, form url.Values) (*http.Response, error) {
	r, err := FormRequest(ctx, method, c.url+path, form)
	if err != nil {
		return nil, err
	}
	return c.http.Do(r)
}

// FormRequest returns a request that sends a form, in its address or, by POST, in its body.
func FormRequest(ctx context.Context, method, address string, form url.Values) (*http.Request, error) {
	if method != http.MethodPost {
		return http.NewRequestWithContext(ctx, method, address+"?"+form.Encode(), http.NoBody)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, err
}

// Close closes the idle connections of c.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.streams.CloseIdleConnections()
}

// SocketName is the name of the socket in the database's folder.
const SocketName = "rondo.sock"

// ErrSilent says that a server holds its socket open but does not answer: its process is stopped,
// or hangs.
var ErrSilent = errors.New("does not answer: the server is stopped (SIGSTOP), or hangs")

// dialSocket returns a client of the server at a socket, once the server has answered; without a
// time for that, once a connection has succeeded.
func dialSocket(ctx context.Context, name string, silent time.Duration) (*Client, error) {
	c, err := unixsocket.Dial(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // it has been answered
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(silent)) // on an error the read fails too
	if silent > 0 {
		_, err = probe(c, 1)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s %w", name, ErrSilent)
	case brokeOff(err) || errors.Is(err, io.EOF):
		return nil, fmt.Errorf("connect to %s: the server that listened there has just ended: %w", name, err)
	case err != nil:
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	dial := func(ctx context.Context) (net.Conn, error) { return unixsocket.Dial(ctx, name) }
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	t.DisableCompression = true
	unpacked := connect.WithAcceptCompression("gzip", nil, nil) // nothing is gained on one machine
	client := newClient(t, "http://"+SocketName, "", unpacked)
	client.dial, client.host, client.socket = dial, SocketName, true
	return client, nil
}
