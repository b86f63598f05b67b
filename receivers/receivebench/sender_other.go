//go:build !linux

package receivebench

import "net"

// A sender sends datagrams.
type sender struct{ conn *net.UDPConn }

func (s *sender) init(conn *net.UDPConn) error {
	s.conn = conn
	return nil
}

func (s *sender) add(b []byte) error {
	_, err := s.conn.Write(b)
	return err
}

func (s *sender) flush() error { return nil }
