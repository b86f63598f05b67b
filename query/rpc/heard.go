package rpc

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// A heardConn remembers the first bytes that came. What listens at the other end may answer lines
// instead of HTTP, and end. Then the transport's error is one of a closed connection where the
// request was still being written, and says nothing of the answer.
type heardConn struct {
	net.Conn

	mu    sync.Mutex
	first []byte
}

// mostHeard is enough of the first bytes: the head of a frame of HTTP/2.
const mostHeard = 9

func (c *heardConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := mostHeard - len(c.first); room > 0 {
		c.first = append(c.first, b[:min(n, room)]...)
	}
	return n, err
}

// speaksHTTP reports whether what came may be HTTP: nothing, a status line, or the settings with
// which HTTP/2 begins.
func (c *heardConn) speaksHTTP() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := []byte("HTTP/")
	n := min(len(c.first), len(line))
	return bytes.Equal(c.first[:n], line[:n]) || len(c.first) > 3 && c.first[0] == 0 && c.first[3] == 4
}

// hears makes the connections of a transport remember what came first.
func hears(t *http.Transport) {
	dial := new(net.Dialer).DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &heardConn{Conn: c}, nil
	}
}

// A connOf notes the connection that a request takes.
type connOf struct{ conn atomic.Pointer[heardConn] }

// trace returns r as a request whose connection c notes.
func (c *connOf) trace(r *http.Request) *http.Request {
	return r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if h, ok := i.Conn.(*heardConn); ok {
			c.conn.Store(h)
		}
	}}))
}

// speaksHTTP reports whether the other end may speak HTTP.
func (c *connOf) speaksHTTP() bool {
	h := c.conn.Load()
	return h == nil || h.speaksHTTP()
}

// silent reports whether nothing has come on the connection.
func (c *connOf) silent() bool {
	h := c.conn.Load()
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.first) == 0
}
