package rpc

import (
	"context"
	"net"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Client speaks to one server.
type Client struct {
	rondov1.RondoClient
	Local rondov1.LocalClient // answered by servers on their socket
	// Streams is Local over HTTP/2: Import streams both ways at once.
	Streams rondov1.LocalClient

	transport, streams *http.Transport
	dial               func(context.Context) (net.Conn, error) // to a socket; nil: another address
}

// Dial returns a client of the server at addr: "host:port", a URL, or a socket as "unix:/path" or
// "/path". It says so at once if nothing listens at a socket; at another address the first call
// does.
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
	limit := connect.WithClientOptions(connect.WithReadMaxBytes(maxAnswerBytes), connect.WithInterceptors(told{}))
	return &Client{
		RondoClient: rondov1.NewRondoClient(h, url, limit),
		Local:       rondov1.NewLocalClient(h, url, limit),
		Streams:     rondov1.NewLocalClient(&http.Client{Transport: two}, url, limit),
		transport:   t,
		streams:     two,
	}
}

// Close closes the idle connections of c.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.streams.CloseIdleConnections()
}
