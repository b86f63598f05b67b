//go:build !unix

package rrdcached

import "net"

// An input reads from a connection.
type input struct{ c net.Conn }

func newInput(c net.Conn) (*input, error) { return &input{c}, nil }

// read reads into buf. Here it cannot be told what has arrived without waiting for it: without wait
// nothing has.
func (in *input) read(buf []byte, wait bool) (int, error) {
	if !wait {
		return 0, nil
	}
	return in.c.Read(buf)
}

// openFlags are those with which a file is opened that may be a pipe nobody writes to.
const openFlags = 0
