//go:build unix

package sockets

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
)

// An Input reads from a connection, with or without waiting. One goroutine at a time may use it.
type Input struct {
	conn net.Conn
	raw  syscall.RawConn // nil: a connection of TLS

	buf  []byte
	wait bool
	n    int
	err  error
	try  func(fd uintptr) bool // the method attempt, kept here so that a read allocates nothing
}

// NewInput returns the Input of a connection. It fails if c is neither one of TLS nor has a file
// descriptor.
func NewInput(c net.Conn) (*Input, error) {
	if _, ok := c.(*tls.Conn); ok {
		return &Input{conn: c}, nil
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.New("connection without a descriptor")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	in := &Input{conn: c, raw: raw}
	in.try = in.attempt
	return in, nil
}

func (in *Input) attempt(fd uintptr) bool {
	for {
		in.n, in.err = syscall.Read(int(fd), in.buf)
		switch {
		case errors.Is(in.err, syscall.EINTR):
			continue
		case errors.Is(in.err, syscall.EAGAIN):
			in.n, in.err = 0, nil
			return !in.wait
		case in.err == nil && in.n == 0:
			in.err = io.EOF
		}
		return true
	}
}

// Polls reports whether Read without wait knows what has arrived.
func (in *Input) Polls() bool { return in.raw != nil }

// Read reads into buf, which must not be empty. Without wait it returns 0 if nothing has arrived.
// What has arrived over TLS is not known without waiting for it, so Read returns 0 there.
func (in *Input) Read(buf []byte, wait bool) (int, error) {
	switch {
	case in.raw == nil && !wait:
		return 0, nil
	case in.raw == nil:
		return in.conn.Read(buf)
	}
	in.buf, in.wait, in.n, in.err = buf, wait, 0, nil
	err := in.raw.Read(in.try)
	in.buf = nil
	if err != nil {
		return 0, err // closed, or the deadline
	}
	return max(in.n, 0), in.err
}
