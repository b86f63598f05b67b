package sockets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/rondo-db/rondo/internal/sleep"
)

// UDPOptions configures a UDP socket.
type UDPOptions struct {
	// Address is host:port. A multicast address is bound to and joined. [::] takes IPv4 too.
	Address string
	// Conn, if not nil, is an open socket to use in place of Address.
	Conn net.PacketConn
	// Groups are multicast addresses to join, each with an optional %interface.
	// Address must then be a wildcard address or a multicast address.
	Groups []string
	// Gather is how long datagrams may wait to be read together with others: waking up for each of
	// them takes far more CPU than reading does. A small socket buffer makes it shorter.
	Gather time.Duration
	// Traffic, if not nil, counts datagrams, bytes and datagrams that the kernel has dropped.
	Traffic *Traffic
}

// UDP reads datagrams, many with one system call where the system can.
// It is for one goroutine, except SetDeadline and Close.
type UDP struct {
	addr net.Addr
	c    *Traffic
	r    batchReader
	rest time.Duration // how long Serve leaves the socket unread after it has read something
	wake time.Time     // when Serve calls take at the latest; zero: only when something has arrived
}

// ListenUDP opens a socket. It asks for a large socket buffer.
func ListenUDP(o UDPOptions) (*UDP, error) {
	c := o.Traffic
	if c == nil {
		c = new(Traffic)
	}
	conn, ok := o.Conn.(*net.UDPConn)
	switch {
	case o.Conn != nil && !ok:
		return nil, fmt.Errorf("socket is a %T, not UDP", o.Conn)
	case o.Conn == nil:
		var err error
		if conn, err = openUDP(o); err != nil {
			return nil, err
		}
	}
	if o.Conn != nil {
		if err := joinGroups(conn, o.Groups); err != nil {
			_ = conn.Close() // the first error counts
			return nil, err
		}
	}
	u := &UDP{addr: conn.LocalAddr(), c: c}
	if err := u.r.init(conn); err != nil {
		_ = conn.Close() // the first error counts
		return nil, fmt.Errorf("listen on %s: %w", u.addr, err)
	}
	u.rest = u.r.rest(o.Gather)
	return u, nil
}

func openUDP(o UDPOptions) (*net.UDPConn, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, err
	}
	groups := o.Groups
	ip, err := netip.ParseAddr(host)
	multicast := err == nil && ip.IsMulticast()
	if multicast {
		groups = append([]string{host}, groups...)
	}
	if len(groups) > 0 && !multicast && host != "" && !ip.IsUnspecified() {
		return nil, fmt.Errorf("listen on %s: a socket bound to this address gets nothing sent to the group %s; listen on [::] or on the group", o.Address, groups[0])
	}
	var lc net.ListenConfig
	if len(groups) > 0 {
		lc.Control = func(_, _ string, raw syscall.RawConn) error { return raw.Control(shareSocket) }
	}
	pc, err := lc.ListenPacket(context.Background(), "udp", o.Address)
	if err != nil {
		return nil, err
	}
	conn := pc.(*net.UDPConn) // what "udp" gives
	if err := joinGroups(conn, groups); err != nil {
		_ = conn.Close() // the first error counts
		return nil, err
	}
	return conn, nil
}

func joinGroups(conn *net.UDPConn, groups []string) error {
	for _, g := range groups {
		if err := joinGroup(conn, g); err != nil {
			return fmt.Errorf("join group %s: %w", g, err)
		}
	}
	return nil
}

func joinGroup(conn *net.UDPConn, group string) error {
	name, zone, _ := strings.Cut(group, "%")
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return err
	}
	if !ip.IsMulticast() {
		return fmt.Errorf("%s is not a multicast address", ip)
	}
	var ifi *net.Interface
	if zone != "" {
		if ifi, err = net.InterfaceByName(zone); err != nil {
			return err
		}
	}
	addr := &net.UDPAddr{IP: ip.AsSlice()}
	if ip.Is4() {
		return ipv4.NewPacketConn(conn).JoinGroup(ifi, addr)
	}
	return ipv6.NewPacketConn(conn).JoinGroup(ifi, addr)
}

// Addr is where the socket listens.
func (u *UDP) Addr() net.Addr { return u.addr }

// Close closes the socket. A second call does nothing.
func (u *UDP) Close() error {
	if err := u.r.close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// SetDeadline makes a Read that waits beyond t return os.ErrDeadlineExceeded.
func (u *UDP) SetDeadline(t time.Time) error { return u.r.setDeadline(t) }

// Read reads datagrams and returns their number; they are valid until the next Read. If none has
// arrived it waits, or returns 0 if wait is false. more reports that further datagrams may have
// arrived already: read those, without waiting, before flushing what was made of these.
func (u *UDP) Read(wait bool) (n int, more bool, err error) {
	n, err = u.r.read(wait)
	if n > 0 {
		var bytes int
		for i := range n {
			bytes += len(u.r.packet(i))
		}
		u.c.Packets.Add(uint64(n))
		u.c.Bytes.Add(uint64(bytes))
		if d := u.r.takeDropped(); d > 0 {
			u.c.KernelDropped.Add(d)
		}
	}
	return n, u.Full(n), err
}

// Full reports whether a Read that returned n datagrams has probably left others in the socket.
// Expensive work may then wait, to be done for all of them together.
func (u *UDP) Full(n int) bool { return n == u.r.size() && n > 1 }

const (
	readErrors = 1000                   // in a row, after which Serve gives up
	drainTime  = 500 * time.Millisecond // how long Serve reads on after its context has ended
)

// WakeAt makes Serve call its take at t even if nothing has arrived. The zero time cancels this. A
// time in the past makes Serve call take again and again. Only take may call WakeAt.
func (u *UDP) WakeAt(t time.Time) { u.wake = t }

// Serve reads datagrams until ctx has ended and the socket is empty. Then it closes the socket and
// returns nil. It calls take after each Read, for the datagrams 0 to n-1, where n may be 0, and
// flush whenever it is about to wait for more. The error is not nil if reading keeps failing.
func (u *UDP) Serve(ctx context.Context, flush func(), take func(n int)) error {
	defer func() { _ = u.Close() }() // nothing was written
	// An error means that the socket is closed, which Read reports.
	stop := context.AfterFunc(ctx, func() { _ = u.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	more := false     // datagrams may have arrived already
	var set time.Time // the deadline of Read
	errs := 0         // in a row
	for {
		var n int
		var err error
		n, more, err = u.Read(!more)
		take(n)
		switch {
		case ctx.Err() != nil:
			u.drain(take)
			return nil
		case err == nil:
			errs = 0
		case errors.Is(err, os.ErrDeadlineExceeded):
		default:
			// An error that ICMP brings back to the socket concerns one peer, not all.
			if errs++; errs > readErrors || errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("read at %s: %w", u.Addr(), err)
			}
		}
		if more {
			continue
		}
		flush()
		if u.wake != set {
			set = u.wake
			_ = u.SetDeadline(set) // else Read sees it closed
			if ctx.Err() != nil {  // whose deadline has just been overwritten
				u.drain(take)
				return nil
			}
		}
		if n > 0 && u.rest > 0 {
			u.sleep(ctx)
			more = true
		}
	}
}

// sleep leaves the socket alone until shortly before the next multiple of rest on the system's
// clock: at the multiples of Config.Gather the queues of all receivers hand over what they hold.
func (u *UDP) sleep(ctx context.Context) {
	now := time.Now()
	d := u.rest - time.Duration(now.Add(u.rest/10).UnixNano())%u.rest
	if !u.wake.IsZero() {
		d = min(d, u.wake.Sub(now))
	}
	_ = sleep.For(ctx, d) // Serve sees that ctx has ended
}

// drain reads the datagrams that the socket holds. Its time is bounded, because senders need not
// stop.
func (u *UDP) drain(take func(n int)) {
	defer take(0) // work that waited for more datagrams is done now
	for end := time.Now().Add(drainTime); time.Now().Before(end); {
		n, _, _ := u.Read(false) // an error comes without datagrams
		if n == 0 {
			return
		}
		take(n)
	}
}

// Packet returns datagram i of the last Read.
func (u *UDP) Packet(i int) []byte { return u.r.packet(i) }

// From returns the address of the sender of datagram i of the last Read.
func (u *UDP) From(i int) netip.AddrPort { return u.r.from(i) }

const (
	// MaxDatagram is the size in bytes of the largest datagram, and of the buffers for datagrams.
	MaxDatagram = 65535
	// udpBatch is how many datagrams one system call reads at most. Their buffers are 4 MiB of
	// address space; only pages that datagrams have filled take memory.
	udpBatch = 64
	// udpBuffer is the size in bytes that is asked for as the socket's receive buffer. It holds a
	// third of a second of 2 million values a second: so long may a busy machine keep a process
	// waiting. The system's limit (net.core.rmem_max) may be lower.
	udpBuffer = 32 << 20
	// maxRest is how long a socket with such a buffer is left unread at most: 100,000 values at 2
	// million a second are well within what receivers and buffer hold.
	maxRest = 50 * time.Millisecond
	minRest = time.Millisecond // sleeping for less saves nothing
)
