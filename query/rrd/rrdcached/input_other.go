//go:build !unix

package rrdcached

import "net"

// An input reads from a connection.
type input struct{ c net.Conn }

func newInput(c net.Conn) (*input, error) { return &input{c}, nil }

// read reads into buf. This system cannot say what has arrived without waiting for it, so without
// wait read returns 0.
func (in *input) read(buf []byte, wait bool) (int, error) {
	if !wait {
		return 0, nil
	}
	return in.c.Read(buf)
}

// openFlags are the flags for opening a file that may be a named pipe without a writer.
const openFlags = 0
