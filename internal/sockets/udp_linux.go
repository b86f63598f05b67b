package sockets

import (
	"cmp"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A batchReader reads many datagrams with one recvmmsg(2). With each the kernel delivers its count
// of datagrams that it has dropped at this socket (SO_RXQ_OVFL). It allocates nothing after init.
//
// The runtime's poller does not know the socket: it would be woken for each datagram, also while
// nobody waits for one. It knows poll, an epoll instance that reports the next datagram if read has
// asked for that.
type batchReader struct {
	poll    *os.File
	polled  syscall.RawConn // of poll
	hdrs    []mmsghdr
	iovs    []unix.Iovec
	bufs    [][]byte
	names   []unix.RawSockaddrAny
	control [][controlBytes]byte

	arm     func(poll uintptr) bool // r.doArm, made once
	armed   bool                    // poll has been asked for the next datagram
	n       int
	lost    uint32 // the kernel's count when it was last read; the count wraps
	dropped uint64

	mu sync.Mutex // guards what follows, and is held while the socket is used
	fd int        // the socket; -1: it is closed
}

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// controlBytes is room for the one control message asked for.
const controlBytes = 64

// init takes conn's socket over.
func (r *batchReader) init(conn *net.UDPConn) error {
	if err := r.takeSocket(conn); err != nil {
		return err
	}
	r.hdrs = make([]mmsghdr, udpBatch)
	r.iovs = make([]unix.Iovec, udpBatch)
	r.bufs = make([][]byte, udpBatch)
	r.names = make([]unix.RawSockaddrAny, udpBatch)
	r.control = make([][controlBytes]byte, udpBatch)
	space := make([]byte, udpBatch*(MaxDatagram+1))
	for i := range r.hdrs {
		r.bufs[i] = space[i*(MaxDatagram+1):][:MaxDatagram:MaxDatagram]
		r.iovs[i].Base = &r.bufs[i][0]
		r.iovs[i].SetLen(MaxDatagram)
		h := &r.hdrs[i].hdr
		h.Iov = &r.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&r.names[i]))
		h.Control = &r.control[i][0]
	}
	r.arm = r.doArm
	return nil
}

func (r *batchReader) size() int { return len(r.hdrs) }

// takeSocket makes fd and poll of conn's socket, and closes conn.
func (r *batchReader) takeSocket(conn *net.UDPConn) error {
	defer func() { _ = conn.Close() }() // the copy is open
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var dup error
	err = raw.Control(func(fd uintptr) {
		tuneSocket(int(fd))
		r.fd, dup = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = cmp.Or(err, dup); err != nil {
		return err
	}
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return errors.Join(err, unix.Close(r.fd))
	}
	err = cmp.Or(
		unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, r.fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT}),
		unix.SetNonblock(poll, true)) // else NewFile hides it from the runtime's poller
	r.poll = os.NewFile(uintptr(poll), "epoll")
	if err == nil {
		r.polled, err = r.poll.SyscallConn()
	}
	if err != nil {
		return errors.Join(err, r.close())
	}
	return nil
}

func (r *batchReader) setDeadline(t time.Time) error { return r.poll.SetReadDeadline(t) }

// close ends a read that waits. It returns net.ErrClosed if the socket is closed.
func (r *batchReader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd < 0 {
		return net.ErrClosed
	}
	err := errors.Join(r.poll.Close(), unix.Close(r.fd))
	r.fd = -1
	return err
}

// read reads what has arrived. If nothing has, it waits until the deadline, if it may wait.
func (r *batchReader) read(wait bool) (int, error) {
	for {
		err := r.receive()
		switch {
		case err == nil:
			r.countLost()
			return r.n, nil
		case err != unix.EAGAIN:
			return 0, err
		case !wait:
			return 0, nil
		}
		if err := r.polled.Read(r.arm); errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		} else if err != nil {
			return 0, net.ErrClosed
		}
	}
}

// receive reads up to size datagrams. It returns EAGAIN if nothing has arrived.
func (r *batchReader) receive() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n = 0
	if r.fd < 0 {
		return net.ErrClosed
	}
	for i := range r.hdrs {
		h := &r.hdrs[i].hdr
		h.Namelen = unix.SizeofSockaddrAny
		h.SetControllen(controlBytes)
	}
	for {
		// It never blocks. As a raw call it does not wake the runtime's monitor, which costs more
		// than reading does when a datagram arrives now and then.
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(r.fd), uintptr(unsafe.Pointer(&r.hdrs[0])),
			uintptr(len(r.hdrs)), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			r.n = int(n)
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}

// doArm asks for a report of the next datagram, once, and returns whether it has come. If not, the
// runtime calls it again when poll has something to report. Its calls are raw ones, which do not
// block, for the reason that receive gives.
func (r *batchReader) doArm(poll uintptr) bool {
	if !r.armed {
		r.mu.Lock()
		defer r.mu.Unlock()
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}
		_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, poll, unix.EPOLL_CTL_MOD, uintptr(r.fd), uintptr(unsafe.Pointer(&event)), 0, 0)
		r.armed = errno == 0
		return !r.armed // closed, which receive reports
	}
	var event unix.EpollEvent
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, poll, uintptr(unsafe.Pointer(&event)), 1, 0, 0, 0)
	r.armed = n != 1 || errno != 0
	return !r.armed
}

// countLost reads the newest count of lost datagrams. Every datagram that arrives after a loss
// carries the count.
func (r *batchReader) countLost() {
	for i := r.n - 1; i >= 0; i-- {
		h := &r.hdrs[i].hdr
		if h.Controllen < unix.SizeofCmsghdr+4 {
			continue
		}
		c := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[i]))
		if c.Level == unix.SOL_SOCKET && c.Type == unix.SO_RXQ_OVFL {
			lost := binary.NativeEndian.Uint32(r.control[i][unix.CmsgLen(0):])
			r.dropped += uint64(lost - r.lost)
			r.lost = lost
			return
		}
	}
}

func (r *batchReader) takeDropped() uint64 {
	d := r.dropped
	r.dropped = 0
	return d
}

func (r *batchReader) packet(i int) []byte { return r.bufs[i][:r.hdrs[i].len] }

func (r *batchReader) from(i int) netip.AddrPort {
	name := &r.names[i]
	switch name.Addr.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), bigEndian(a.Port))
	case unix.AF_INET6:
		a := (*unix.RawSockaddrInet6)(unsafe.Pointer(name))
		ip := netip.AddrFrom16(a.Addr).Unmap()
		if a.Scope_id != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(a.Scope_id), 10))
		}
		return netip.AddrPortFrom(ip, bigEndian(a.Port))
	}
	return netip.AddrPort{}
}

// bigEndian reads a port, which the kernel keeps in network order.
func bigEndian(port uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], port)
	return binary.BigEndian.Uint16(b[:])
}

func tuneSocket(fd int) {
	// SO_RCVBUFFORCE needs CAP_NET_ADMIN. Without that the system's limit holds.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, udpBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, udpBuffer) // less is not fatal
	}
	// without it losses go uncounted
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
}

// rest is how long the socket may go unread: d, maxRest at most, if its buffer is as large as was
// asked for. A smaller one is full sooner.
func (r *batchReader) rest(d time.Duration) time.Duration {
	granted, err := unix.GetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0
	}
	const doubled = 2 * udpBuffer // as the kernel counts
	d = min(d, maxRest) * time.Duration(min(granted, doubled)) / doubled
	if d < minRest {
		return 0
	}
	return d
}

// shareSocket lets several programs on the machine listen to one group.
func shareSocket(fd uintptr) {
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) // bind reports what matters
	// Take only groups that this socket has joined, not the groups of other sockets of the machine.
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0)
}
