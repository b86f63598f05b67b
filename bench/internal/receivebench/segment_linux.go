package receivebench

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// A segmenter has the system cut one long write into datagrams of one size, to which messages are
// padded with zeros, that do not count. It costs the sender a third, and the receiver what it
// always does.
type segmenter struct {
	conn *net.UDPConn
	size int
	buf  []byte
}

const mostSegmented = 60_000 // bytes of a write: an IP packet has 65535

func newSegmenter(conn *net.UDPConn, size int) (*segmenter, error) {
	raw, err := conn.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, size) })
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cut datagrams: %w", err), conn.Close())
	}
	return &segmenter{conn: conn, size: size, buf: make([]byte, 0, mostSegmented)}, nil
}

func (s *segmenter) add(_ int, b []byte) error {
	if len(b) > s.size {
		return fmt.Errorf("bench: message of %d bytes, longer than %d", len(b), s.size)
	}
	at := len(s.buf)
	s.buf = s.buf[:at+s.size]
	clear(s.buf[at+copy(s.buf[at:], b):])
	if len(s.buf)+s.size > mostSegmented || len(s.buf) == sendBatch*s.size {
		return s.flush()
	}
	return nil
}

func (s *segmenter) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	_, err := s.conn.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

func (s *segmenter) close() error { return s.conn.Close() }
