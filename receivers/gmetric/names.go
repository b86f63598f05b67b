package gmetric

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxNames      = 1 << 16         // addresses that are remembered
	maxLookups    = 1024            // addresses that wait to be looked up
	lookupWorkers = 16              // addresses that are looked up at the same time
	lookupTimeout = 3 * time.Second // how long one look-up may take
	nameFresh     = time.Hour       // after which a name is looked up again
	nameFailed    = 5 * time.Minute // after which an address without a name is looked up again
	waitingMost   = 4096            // datagrams that wait for the name of their sender
	waitingBytes  = 1 << 20         // bytes in them
)

// names finds the names of addresses in the DNS. Only datagrams of an address whose name is not
// known yet wait for the look-up; others are read meanwhile.
type names struct {
	c      *receivers.Counters
	lookup func(ctx context.Context, addr string) ([]string, error)
	known  map[netip.Addr]*named // for the goroutine of Serve alone, as are held, bytes and purged
	held   []heldDatagram        // datagrams that wait for the name of their sender
	bytes  int                   // in held
	asks   chan netip.Addr       // when it is full, datagrams are shed
	purged time.Time             // when old names were last removed from known
	cancel context.CancelFunc
	run    sync.WaitGroup
	// A worker waits until its answer is taken.
	answers chan answer
}

// A named is what is known of an address.
type named struct {
	name  []byte    // nil: it is not known yet
	until time.Time // when the name is to be looked up again
	asked bool      // it is being looked up
}

// An answer is the result of a look-up.
type answer struct {
	addr netip.Addr
	name string // empty: the address has no name
}

// A heldDatagram waits for the name of its sender.
type heldDatagram struct {
	addr   netip.Addr
	packet []byte
	at     rra.Time
}

func newNames(c *receivers.Counters) *names {
	return &names{
		c:      c,
		lookup: net.DefaultResolver.LookupAddr,
		known:  make(map[netip.Addr]*named),
		asks:   make(chan netip.Addr, maxLookups), answers: make(chan answer, maxLookups),
	}
}

func (n *names) start() {
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	for range lookupWorkers {
		n.run.Go(func() { n.work(ctx) })
	}
}

func (n *names) stop() {
	n.cancel()
	n.run.Wait()
}

func (n *names) work(ctx context.Context) {
	for {
		var addr netip.Addr
		select {
		case <-ctx.Done():
			return
		case addr = <-n.asks:
		}
		one, cancel := context.WithTimeout(ctx, lookupTimeout)
		found, err := n.lookup(one, addr.String())
		cancel()
		a := answer{addr: addr}
		if err == nil && len(found) > 0 {
			a.name = strings.TrimSuffix(found[0], ".")
		}
		select {
		case n.answers <- a:
		case <-ctx.Done():
		}
	}
}

// waiting reports whether datagrams wait for a name.
func (n *names) waiting() bool { return len(n.held) > 0 }

// find returns the name of addr. If it is not known yet, find keeps packet, which arrived at the
// time at and is returned by ready later, and returns nil.
func (n *names) find(addr netip.Addr, packet []byte, now time.Time, at rra.Time) []byte {
	x := n.known[addr]
	if x == nil {
		if len(n.known) >= maxNames && !n.forget(now) {
			n.c.Drop(receivers.Limit, 1)
			return nil
		}
		x = new(named)
		n.known[addr] = x
	}
	if !x.asked && (x.name == nil || now.After(x.until)) {
		select {
		case n.asks <- addr:
			x.asked = true
		default:
		}
	}
	if x.name != nil {
		return x.name
	}
	if !x.asked || len(n.held) >= waitingMost || n.bytes+len(packet) > waitingBytes {
		n.c.Drop(receivers.Overload, 1)
		return nil
	}
	n.bytes += len(packet)
	n.held = append(n.held, heldDatagram{addr, append([]byte(nil), packet...), at})
	return nil
}

// forget forgets old names, and reports whether there is room for another address now.
func (n *names) forget(now time.Time) bool {
	if now.Sub(n.purged).Abs() < time.Second {
		return false // search once a second at most, however many new addresses come
	}
	n.purged = now
	for addr, x := range n.known {
		if !x.asked && now.After(x.until) {
			delete(n.known, addr)
		}
	}
	return len(n.known) < maxNames
}

// ready takes the answers that have come, and returns the datagrams whose senders have names now.
func (n *names) ready(now time.Time) []heldDatagram {
	most := len(n.answers)
	if most == 0 {
		return nil
	}
	for range most {
		a := <-n.answers
		x := n.known[a.addr]
		switch {
		case a.name != "":
			x.name, x.until = []byte(a.name), now.Add(nameFresh)
		case x.name == nil:
			x.name = []byte(a.addr.String())
			fallthrough
		default:
			x.until = now.Add(nameFailed)
		}
		x.asked = false
	}
	var ready, rest []heldDatagram
	n.bytes = 0
	for _, h := range n.held {
		if n.known[h.addr].name == nil {
			rest = append(rest, h)
			n.bytes += len(h.packet)
			continue
		}
		ready = append(ready, h)
	}
	n.held = rest
	return ready
}
