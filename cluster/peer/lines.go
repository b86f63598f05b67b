package peer

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// A bearer sends a token with each request. Its error says whether a request that failed may have
// reached the other node.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	var connected atomic.Bool // a connection may be had after the request was given up
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	r = r.Clone(ctx)
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil && !connected.Load() {
		err = &unsentError{err}
	}
	return res, err
}

// An unsentError is why a request was not sent: there is no connection.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

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
