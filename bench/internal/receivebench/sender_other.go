//go:build !linux

package receivebench

import (
	"errors"
	"net"
)

// A sender sends datagrams.
type sender struct{ conn *net.UDPConn }

func (s *sender) init(conn *net.UDPConn) error {
	s.conn = conn
	return nil
}

func (s *sender) add(_ int, b []byte) error {
	_, err := s.conn.Write(b)
	return err
}

func (s *sender) flush() error { return nil }

func (s *sender) close() error { return s.conn.Close() }

func newSegmenter(conn *net.UDPConn, _ int) (wire, error) {
	return nil, errors.Join(errors.New("bench: the system does not cut datagrams"), conn.Close())
}
