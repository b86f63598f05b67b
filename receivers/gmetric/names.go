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
	maxNames      = 1 << 16         // addresses
	maxLookups    = 1024            // that wait for one of the
	lookupWorkers = 16              // that look up at the same time,
	lookupTimeout = 3 * time.Second // for so long
	// before an address is looked up again, whose name is used until then
	nameFresh    = time.Hour
	nameFailed   = 5 * time.Minute // the same for one that has no name and stands for itself
	waitingMost  = 4096            // datagrams whose sender's name is looked up
	waitingBytes = 1 << 20
)

// names finds the names of addresses. Nothing waits for that but the datagrams of the address.
type names struct {
	lookup func(ctx context.Context, addr string) ([]string, error)
	known  map[netip.Addr]*named // of the goroutine of Serve, as is
	held   []heldDatagram
	bytes  int
	asks   chan netip.Addr // when it is full, datagrams are shed
	purged time.Time       // when known was searched for some to forget
	cancel context.CancelFunc
	run    sync.WaitGroup

	mu      sync.Mutex // guards answers
	answers []answer
}

type named struct {
	name  []byte // nil: not yet
	until time.Time
	asked bool
}

type answer struct {
	addr netip.Addr
	name string // empty: none
}

type heldDatagram struct {
	addr   netip.Addr
	packet []byte
	at     rra.Time
}

func newNames() *names {
	return &names{
		lookup: net.DefaultResolver.LookupAddr,
		known:  make(map[netip.Addr]*named),
		asks:   make(chan netip.Addr, maxLookups),
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
		n.mu.Lock()
		n.answers = append(n.answers, a)
		n.mu.Unlock()
	}
}

// waiting reports whether datagrams wait for a name.
func (n *names) waiting() bool { return len(n.held) > 0 }

// name returns the name of the sender of packet. If that is not known yet, the packet is kept.
func (s *server) name(packet []byte) ([]byte, bool) {
	n := s.names
	addr := s.sender.addr
	x := n.known[addr]
	if x == nil {
		if len(n.known) >= maxNames && !n.forget(s.now) {
			s.Drop(receivers.Limit, 1)
			return nil, false
		}
		x = new(named)
		n.known[addr] = x
	}
	if !x.asked && (x.name == nil || s.now.After(x.until)) {
		select {
		case n.asks <- addr:
			x.asked = true
		default:
		}
	}
	if x.name != nil {
		return x.name, true
	}
	if !x.asked || len(n.held) >= waitingMost || n.bytes+len(packet) > waitingBytes {
		s.Drop(receivers.Overload, 1)
		return nil, false
	}
	n.bytes += len(packet)
	n.held = append(n.held, heldDatagram{addr, append([]byte(nil), packet...), s.at})
	return nil, false
}

// forget makes room where there are too many addresses, and reports whether there is some.
func (n *names) forget(now time.Time) bool {
	if now.Sub(n.purged).Abs() < time.Second {
		return false // a flood of addresses must not be one of searches
	}
	n.purged = now
	for addr, x := range n.known {
		if !x.asked && now.After(x.until) {
			delete(n.known, addr)
		}
	}
	return len(n.known) < maxNames
}

// readWaiting takes the names that were found, and reads the datagrams that have waited for them.
func (s *server) readWaiting() {
	n := s.names
	n.mu.Lock()
	answers := n.answers
	n.answers = nil
	n.mu.Unlock()
	for _, a := range answers {
		x := n.known[a.addr]
		switch {
		case a.name != "":
			x.name, x.until = []byte(a.name), s.now.Add(nameFresh)
		case x.name == nil:
			x.name = []byte(a.addr.String())
			fallthrough
		default:
			x.until = s.now.Add(nameFailed)
		}
		x.asked = false
	}
	if len(answers) == 0 {
		return
	}
	now := s.at
	held := n.held
	n.held, n.bytes = nil, 0
	for _, h := range held {
		if n.known[h.addr].name == nil {
			n.held = append(n.held, h)
			n.bytes += len(h.packet)
			continue
		}
		s.at = h.at
		s.datagram(h.packet, h.addr)
	}
	s.at = now
}
