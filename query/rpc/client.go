package rpc

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/unixsocket"
)

// A Client speaks to one server.
type Client struct {
	rondov1.RondoClient
	Local rondov1.LocalClient // servers answer it on their socket only
	// Streams is Local over HTTP/2, which Import needs because it streams both ways at once.
	Streams rondov1.LocalClient

	http *http.Client
	url  string

	transport, streams *http.Transport
	dial               func(context.Context) (net.Conn, error) // to the socket; nil for a TCP address
}

// Dial returns a client of the server at addr: "host:port", a URL, or a socket as "unix:/path" or
// "/path". If nothing listens at a socket, Dial fails; if nothing listens at another address, the
// first call fails.
func Dial(ctx context.Context, addr string) (*Client, error) {
	if name, ok := strings.CutPrefix(addr, "unix:"); ok || strings.HasPrefix(addr, "/") {
		return dialUnix(ctx, name)
	}
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	return newClient(&http.Transport{}, strings.TrimSuffix(addr, "/")), nil
}

func newClient(t *http.Transport, url string) *Client {
	h := &http.Client{Transport: t}
	two := t.Clone()
	two.Protocols = new(http.Protocols)
	two.Protocols.SetUnencryptedHTTP2(true)
	limit := connect.WithClientOptions(connect.WithReadMaxBytes(maxAnswerBytes), connect.WithInterceptors(utf8Checker{}, endTeller{}))
	return &Client{
		RondoClient: rondov1.NewRondoClient(h, url, limit),
		Local:       rondov1.NewLocalClient(h, url, limit),
		Streams:     rondov1.NewLocalClient(&http.Client{Transport: two}, url, limit),
		http:        h,
		url:         url,
		transport:   t,
		streams:     two,
	}
}

// PostForm sends a form to a path of the server that is no procedure, such as those of Prometheus'
// API. The caller closes the body of the answer.
func (c *Client) PostForm(ctx context.Context, path string, form url.Values) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.http.Do(r)
}

// Close closes the idle connections of c.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.streams.CloseIdleConnections()
}

// SocketName is the name of the socket in the database's folder.
const SocketName = "rondo.sock"

// dialUnix returns a client of the server at the socket name, after one connection has succeeded.
func dialUnix(ctx context.Context, name string) (*Client, error) {
	c, err := unixsocket.Dial(ctx, name)
	if err != nil {
		return nil, err
	}
	_ = c.Close() // nothing was sent
	return clientOf(name), nil
}

// clientOf returns a client of the server at the socket name.
func clientOf(name string) *Client {
	dial := func(ctx context.Context) (net.Conn, error) { return unixsocket.Dial(ctx, name) }
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	client := newClient(t, "http://"+SocketName)
	client.dial = dial
	return client
}
