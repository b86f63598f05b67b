//go:build unix

package rrdcached

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// openFlags are the flags for opening a file that may be a named pipe without a writer.
const openFlags = syscall.O_NONBLOCK

// An input reads from a connection, with or without waiting.
type input struct {
	raw syscall.RawConn

	buf  []byte
	wait bool
	n    int
	err  error
	try  func(fd uintptr) bool // the method attempt, kept here so that a read allocates nothing
}

func newInput(c net.Conn) (*input, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.New("connection without a descriptor")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	in := &input{raw: raw}
	in.try = in.attempt
	return in, nil
}

func (in *input) attempt(fd uintptr) bool {
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

// read reads into buf. Without wait it returns 0 if nothing has arrived.
func (in *input) read(buf []byte, wait bool) (int, error) {
	in.buf, in.wait, in.n, in.err = buf, wait, 0, nil
	err := in.raw.Read(in.try)
	in.buf = nil
	if err != nil {
		return 0, err // closed, or the deadline
	}
	return max(in.n, 0), in.err
}
