package hostile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// An attack is what is done to one receiver.
type attack struct {
	addr    string // of the receiver; of a folder, its name
	mu      sync.Mutex
	mutator *mutator // mu is held where several goroutines use it
	hoarded []byte
	sent    atomic.Uint64 // datagrams or connections, or changes of a folder
	bytes   atomic.Uint64
}

const burst = 32 // datagrams sent without a look at the receiver's queue

// queueBytes is how much may wait in the receiver's socket before attackers do, headers of the
// kernel's included. So it is always busy and never full, as far as Linux' own limit goes.
const queueBytes = 128 << 10

// datagrams sends damaged datagrams as fast as they are read, until ctx ends. Those that good
// senders send in between find room in the socket.
func (a *attack) datagrams(ctx context.Context) error {
	_, port, err := net.SplitHostPort(a.addr)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	c, err := dialFrom(ctx, "udp", 2, a.addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing is read
	sent, blind := 0, 0              // bytes since the last look; looks in a row that have shown nothing
	for i := 0; ctx.Err() == nil; i++ {
		if i%burst == 0 || sent > 64<<10 {
			for sent = 0; ctx.Err() == nil; time.Sleep(50 * time.Microsecond) {
				n, err := queued(number)
				if errors.Is(err, errNoSocket) && blind < 100 { // the list changes while it is read
					blind++
					continue
				} else if err != nil {
					return err
				}
				if blind = 0; n < queueBytes {
					break
				}
			}
		}
		b := a.mutator.next()
		if _, err := c.Write(b); err != nil {
			return err
		}
		sent += len(b)
		a.sent.Add(1)
		a.bytes.Add(uint64(len(b)))
	}
	return nil
}

// queued returns how many bytes wait in the UDP socket of a port on loopback.
func queued(port int) (int64, error) {
	data, err := os.ReadFile("/proc/net/udp")
	if err != nil {
		return 0, err
	}
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasSuffix(f[1], suffix) {
			continue
		}
		_, rx, _ := strings.Cut(f[4], ":")
		return strconv.ParseInt(rx, 16, 64)
	}
	return 0, fmt.Errorf("port %d: %w", port, errNoSocket)
}

var errNoSocket = errors.New("no such socket")

// dialFrom connects from the loopback address 127.0.0.HOST, so that the receiver sees another
// machine.
func dialFrom(ctx context.Context, network string, host byte, to string) (net.Conn, error) {
	ip := net.IPv4(127, 0, 0, host)
	var local net.Addr = &net.TCPAddr{IP: ip}
	if network == "udp" {
		local = &net.UDPAddr{IP: ip}
	}
	d := net.Dialer{LocalAddr: local, Timeout: rondotest.Patience}
	return d.DialContext(ctx, network, to)
}

// peerGone reports whether an error shows a peer that it was refused or thrown out, or has no time
// left.
func peerGone(err error) bool {
	for _, e := range []error{
		syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.EADDRNOTAVAIL, os.ErrDeadlineExceeded,
		net.ErrClosed, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// connect makes a connection, counts it, and has it closed when ctx ends.
func (a *attack) connect(ctx context.Context, host byte) (*net.TCPConn, func(), error) {
	c, err := dialFrom(ctx, "tcp", host, a.addr)
	if err != nil {
		return nil, nil, err
	}
	a.sent.Add(1)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	return c.(*net.TCPConn), func() { stop(); _ = c.Close() }, nil
}

// streams sends damaged streams, one a connection, as fast as they go.
func (a *attack) streams(ctx context.Context) error {
	for ctx.Err() == nil {
		c, done, err := a.connect(ctx, 3)
		if peerGone(err) {
			continue
		} else if err != nil {
			return err
		}
		for range 1 + a.mutator.IntN(4) { // the second begins where the first did not end
			b := a.mutator.next()
			n, err := c.Write(b)
			a.bytes.Add(uint64(n))
			if err != nil {
				break
			}
		}
		if a.mutator.IntN(2) == 0 {
			_ = c.SetLinger(0) // a reset in place of an end
		} else if c.CloseWrite() == nil {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = c.Read(make([]byte, 1)) // until the receiver has read it all, and closes
		}
		done()
	}
	return nil
}

// whole returns a message without damage.
func (a *attack) whole() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mutator.seed()
}

// slow sends whole streams byte by byte over several connections.
func (a *attack) slow(ctx context.Context) error {
	return a.several(ctx, 4, 10, func(c net.Conn) error {
		b := a.whole()
		for i := range b {
			if _, err := c.Write(b[i : i+1]); err != nil {
				return err
			}
			a.bytes.Add(1)
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	})
}

// stalled sends the beginning of a stream over several connections, and then nothing, nor does it
// read or close.
func (a *attack) stalled(ctx context.Context) error {
	return a.several(ctx, 5, 30, func(c net.Conn) error {
		b := a.whole()
		n, err := c.Write(b[:len(b)*2/3])
		a.bytes.Add(uint64(n))
		if err == nil {
			<-ctx.Done()
		}
		return err
	})
}

// endless sends one whole stream after the other over the same connections.
func (a *attack) endless(ctx context.Context) error {
	return a.several(ctx, 6, 2, func(c net.Conn) error {
		for {
			n, err := c.Write(a.whole())
			a.bytes.Add(uint64(n))
			if err != nil {
				return err
			}
		}
	})
}

// hoard makes the receiver keep as much as it may over several connections, and then keeps these
// open.
func (a *attack) hoard(ctx context.Context) error {
	return a.several(ctx, 7, 8, func(c net.Conn) error {
		n, err := c.Write(a.hoarded)
		a.bytes.Add(uint64(n))
		for err == nil { // until it ends
			_, err = c.Read(make([]byte, 64))
		}
		pass(ctx, time.Second)
		return nil
	})
}

// several keeps n connections open on which use goes on until ctx ends.
func (a *attack) several(ctx context.Context, host byte, n int, use func(net.Conn) error) error {
	errs := make(chan error, n)
	for range n {
		go func() {
			var bad error
			for ctx.Err() == nil && bad == nil {
				c, done, err := a.connect(ctx, host)
				if err == nil {
					err = use(c)
					done()
				}
				if err != nil && !peerGone(err) {
					bad = err
				}
			}
			errs <- bad
		}()
	}
	var all []error
	for range n {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// The connections that a receiver and one host may have.
const (
	mostConns = 200
	hostConns = 40
)

// flood opens more connections than there may be, from more than one address, closes them, and
// begins again.
func (a *attack) flood(ctx context.Context) error {
	const hosts, each = 8, hostConns + 5
	for ctx.Err() == nil {
		var open []func()
		for i := range hosts * each {
			_, done, err := a.connect(ctx, byte(10+i/each))
			if err == nil {
				open = append(open, done)
			} else if !peerGone(err) {
				return err
			}
		}
		for _, done := range open {
			done()
		}
		pass(ctx, time.Second)
	}
	return nil
}
