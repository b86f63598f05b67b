//go:build !linux

package sockets

import (
	"net"
	"net/netip"
	"time"
)

// A batchReader reads one datagram at a time.
type batchReader struct {
	conn *net.UDPConn
	buf  []byte
	n    int
	addr netip.AddrPort
}

func (r *batchReader) init(conn *net.UDPConn) error {
	r.conn, r.buf = conn, make([]byte, MaxDatagram)
	return conn.SetReadBuffer(udpBuffer / 2)
}

func (r *batchReader) close() error { return r.conn.Close() }

func (r *batchReader) setDeadline(t time.Time) error { return r.conn.SetReadDeadline(t) }

func (r *batchReader) rest(time.Duration) time.Duration { return 0 }

func (r *batchReader) size() int { return 1 }

func (r *batchReader) read(wait bool) (int, error) {
	if !wait {
		return 0, nil
	}
	n, addr, err := r.conn.ReadFromUDPAddrPort(r.buf)
	if err != nil {
		return 0, err
	}
	r.n, r.addr = n, netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	return 1, nil
}

func (r *batchReader) packet(int) []byte { return r.buf[:r.n] }

func (r *batchReader) from(int) netip.AddrPort { return r.addr }

func (r *batchReader) takeDropped() uint64 { return 0 }

func shareSocket(uintptr) {}
