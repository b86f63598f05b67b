package rpc

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Client speaks to one server.
type Client struct {
	rondov1.RondoClient
	Local rondov1.LocalClient // answered by servers on their socket

	transport *http.Transport
}

// Dial returns a client of the server at addr: "host:port", a URL, or a socket as "unix:/path" or "/path".
// It says so at once if nothing listens at a socket; at another address the first call does.
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
	limit := connect.WithReadMaxBytes(maxAnswerBytes)
	return &Client{
		RondoClient: rondov1.NewRondoClient(h, url, limit),
		Local:       rondov1.NewLocalClient(h, url, limit),
		transport:   t,
	}
}

// Close closes the idle connections of c.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
