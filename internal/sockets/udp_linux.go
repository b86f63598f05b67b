package sockets

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A batchReader reads many datagrams with one recvmmsg(2). With each the kernel delivers its count
// of datagrams that it has dropped at this socket (SO_RXQ_OVFL). It allocates nothing after init.
type batchReader struct {
	raw     syscall.RawConn
	hdrs    []mmsghdr
	iovs    []unix.Iovec
	bufs    [][]byte
	names   []unix.RawSockaddrAny
	control [][controlBytes]byte

	step    func(fd uintptr) bool // r.receive, made once
	wait    bool
	n       int
	errno   syscall.Errno
	lost    uint32 // the kernel's count when it was last read; the count wraps
	dropped uint64
}

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// controlBytes is room for the one control message asked for.
const controlBytes = 64

func (r *batchReader) init(_ *net.UDPConn, raw syscall.RawConn) error {
	r.raw = raw
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
	r.step = r.receive
	return nil
}

func (r *batchReader) size() int { return len(r.hdrs) }

func (r *batchReader) read(wait bool) (int, error) {
	r.n, r.errno, r.wait = 0, 0, wait
	if err := r.raw.Read(r.step); err != nil {
		return 0, err
	}
	if r.errno != 0 {
		return 0, r.errno
	}
	r.countLost()
	return r.n, nil
}

// receive is called by the runtime whenever the socket may be readable. It reports whether it is
// done; if not, the runtime waits and calls it again.
func (r *batchReader) receive(fd uintptr) bool {
	for i := range r.hdrs {
		h := &r.hdrs[i].hdr
		h.Namelen = unix.SizeofSockaddrAny
		h.SetControllen(controlBytes)
	}
	for {
		// It never blocks. As a raw call it does not wake the runtime's monitor, which costs more
		// than reading does when a datagram arrives now and then.
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.hdrs[0])),
			uintptr(len(r.hdrs)), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			r.n = int(n)
			return true
		case unix.EINTR:
		case unix.EAGAIN:
			return !r.wait
		default:
			r.errno = errno
			return true
		}
	}
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

func tuneSocket(fd uintptr) {
	// SO_RCVBUFFORCE needs CAP_NET_ADMIN. Without that the system's limit holds.
	if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, udpBuffer) != nil {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, udpBuffer) // less is not fatal
	}
	// without it losses go uncounted
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
}

// shareSocket lets several programs on the machine listen to one group.
func shareSocket(fd uintptr) {
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) // bind reports what matters
	// Take only groups that this socket has joined, not the groups of other sockets of the machine.
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0)
}
