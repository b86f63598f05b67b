//go:build !unix

package sockets

import "net"

// An Input reads from a connection. One goroutine at a time may use it.
type Input struct{ conn net.Conn }

// NewInput returns the Input of a connection.
func NewInput(c net.Conn) (*Input, error) { return &Input{c}, nil }

// Polls reports whether Read without wait knows what has arrived.
func (in *Input) Polls() bool { return false }

// Read reads into buf, which must not be empty. This system cannot say what has arrived without
// waiting for it, so without wait Read returns 0.
func (in *Input) Read(buf []byte, wait bool) (int, error) {
	if !wait {
		return 0, nil
	}
	return in.conn.Read(buf)
}
