package sockets

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// YieldTime is how long a peer may be silent before a new connection may take its place.
const YieldTime = time.Minute

// Places bounds the connections of one listener, or of several together.
//
// There are as many places for unix sockets as for the network, so that nobody on the network can
// keep programs of this machine out. One client on the network (see Client) has a share of the
// network's places. When a new connection finds no free place, it takes the place of the peer that
// has been silent for longest, if that was at least the yield time: a peer of the same client if
// the client's share is used up, else any peer of the same kind (unix or network).
type Places struct {
	most, clientMost int
	yield            time.Duration

	mu            sync.Mutex // guards what follows
	local, remote int        // places taken
	clients       map[string][]*Place
}

// A Place is what one connection occupies in Places.
type Place struct {
	// Client is the client whose share the place counts against: Local, or the result of Client.
	Client string
	// Host is the peer's address, or Local. A client of IPv6 may have many addresses.
	Host string
	// Number distinguishes the connections of one host: the lowest free number from 1 on.
	Number int

	of     *Places
	nc     net.Conn
	silent atomic.Int64 // when the peer fell silent, in nanoseconds since 1970; 0: it is served
	yields atomic.Bool  // another connection has the place now
}

// NewPlaces returns places for most connections to unix sockets and for most from the network; one
// client has clientMost of them at most. yield is the yield time; 0: YieldTime.
func NewPlaces(most, clientMost int, yield time.Duration) *Places {
	if yield <= 0 {
		yield = YieldTime
	}
	return &Places{most: most, clientMost: clientMost, yield: yield, clients: make(map[string][]*Place)}
}

// Enter gives a place to a connection from host, which is an address of client. It returns nil if
// no place is free and no peer has been silent for the yield time. made reports that another
// connection has lost its place: a waiting Read of that connection is interrupted, and its Place
// reports Yields.
func (p *Places) Enter(nc net.Conn, client, host string, now time.Time) (place *Place, made bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *p.count(client) >= p.most || p.shareTaken(client) {
		if made = p.makeRoom(client, now); !made {
			return nil, false
		}
	}
	all := p.clients[client]
	taken := make([]bool, len(all)+1) // by number less 1
	for _, o := range all {
		if o.Host == host && o.Number <= len(all) {
			taken[o.Number-1] = true
		}
	}
	place = &Place{Client: client, Host: host, Number: slices.Index(taken, false) + 1, of: p, nc: nc}
	p.clients[client] = append(all, place)
	*p.count(client)++
	return place, made
}

// count returns the counter of taken places that client belongs to.
func (p *Places) count(client string) *int {
	if client == Local {
		return &p.local
	}
	return &p.remote
}

// shareTaken reports whether client has used up its share of the network's places.
func (p *Places) shareTaken(client string) bool {
	return client != Local && len(p.clients[client]) >= p.clientMost
}

// makeRoom takes the place away from the peer that has been silent for longest, among those whose
// place client could take, and reports whether there is such a peer.
func (p *Places) makeRoom(client string, now time.Time) bool {
	var silent *Place
	since := now.Add(-p.yield).UnixNano()
	own := client == Local || p.shareTaken(client)
	for name, all := range p.clients {
		if own && name != client || !own && name == Local {
			continue
		}
		for _, o := range all {
			if at := o.silent.Load(); at != 0 && at <= since {
				silent, since = o, at
			}
		}
	}
	if silent == nil {
		return false
	}
	silent.yields.Store(true)
	silent.Interrupt()
	p.remove(silent)
	return true
}

// remove frees a place. It does nothing if the place has yielded: another connection has it then.
func (p *Places) remove(place *Place) {
	all := p.clients[place.Client]
	i := slices.Index(all, place)
	if i < 0 {
		return
	}
	if p.clients[place.Client] = slices.Delete(all, i, i+1); len(all) == 1 {
		delete(p.clients, place.Client)
	}
	*p.count(place.Client)--
}

// Len returns how many places are taken.
func (p *Places) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.local + p.remote
}

// Leave frees the place; it may be called again.
func (p *Place) Leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.remove(p)
}

// Silent notes that the server waits for the peer from now on. The caller must ask Yields after it
// has set the deadline of its Read, because setting it may have undone an Interrupt.
func (p *Place) Silent(now time.Time) { p.silent.Store(now.UnixNano()) }

// Heard notes that the peer has sent something or has gone.
func (p *Place) Heard() { p.silent.Store(0) }

// Yields reports whether the peer has lost its place because it was silent.
func (p *Place) Yields() bool { return p.yields.Load() }

// Interrupt ends a Read that waits.
func (p *Place) Interrupt() { _ = p.nc.SetReadDeadline(time.Unix(1, 0)) } // else it is closed
