package peer

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// A bearer sends a token with each request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(r)
}

// lines are the connections of a node.
type lines struct {
	mu   sync.Mutex // guards open
	open map[*line]struct{}
}

// A line is a connection of lines.
type line struct {
	net.Conn
	of *lines
}

// dialer returns how to connect, so that cut finds the connections.
func (ls *lines) dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l := &line{c, ls}
		ls.mu.Lock()
		defer ls.mu.Unlock()
		if ls.open == nil {
			ls.open = make(map[*line]struct{})
		}
		ls.open[l] = struct{}{}
		return l, nil
	}
}

// Close is as net.Conn has it.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// cut closes all connections. Whoever uses one gets an error.
func (ls *lines) cut() {
	ls.mu.Lock()
	all := ls.open
	ls.open = nil
	ls.mu.Unlock()
	for l := range all {
		_ = l.Conn.Close() // what was under way has failed by it
	}
}
