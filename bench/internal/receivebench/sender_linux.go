package receivebench

import (
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendBatch is how many datagrams one system call sends.
const sendBatch = 64

// A sender sends datagrams, many with one system call.
type sender struct {
	conn  *net.UDPConn
	raw   syscall.RawConn
	hdrs  [sendBatch]mmsghdr
	iovs  [sendBatch]unix.Iovec
	n     int // gathered
	sent  int // of these
	errno syscall.Errno
	try   func(fd uintptr) bool // send, made once
}

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

func (s *sender) init(conn *net.UDPConn) (err error) {
	s.conn, s.try = conn, s.send
	s.raw, err = conn.SyscallConn()
	for i := range s.hdrs {
		s.hdrs[i].hdr.Iov = &s.iovs[i]
		s.hdrs[i].hdr.SetIovlen(1)
	}
	return err
}

// add gathers b, which must stay as it is until the next flush, and sends what is gathered when
// that is enough.
func (s *sender) add(_ int, b []byte) error {
	s.iovs[s.n].Base = &b[0]
	s.iovs[s.n].SetLen(len(b))
	if s.n++; s.n == sendBatch {
		return s.flush()
	}
	return nil
}

// flush sends what is gathered.
func (s *sender) flush() error {
	s.sent, s.errno = 0, 0
	if s.n == 0 {
		return nil
	}
	err := s.raw.Write(s.try)
	s.n = 0
	if err == nil && s.errno != 0 {
		err = s.errno
	}
	return err
}

// send is called by the runtime whenever the socket may take more.
func (s *sender) send(fd uintptr) bool {
	for s.sent < s.n {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.hdrs[s.sent])), uintptr(s.n-s.sent), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			s.sent += int(n)
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOBUFS:
			return false
		default:
			s.errno = errno
			return true
		}
	}
	return true
}

func (s *sender) close() error { return s.conn.Close() }
