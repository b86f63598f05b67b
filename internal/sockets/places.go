package sockets

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// YieldTime is how long a peer may be silent while others want its place.
const YieldTime = time.Minute

// Places bounds the connections of one listener, or of several together. Connections to unix
// sockets have places of their own, so that nobody on the network keeps this machine's programs
// out. One client on the network (see Client) has a share of those of the network. Where there is
// no place for a connection, the peer among those whose place it could have that has been silent
// for longest makes room for it, if that was for the yield time at least.
type Places struct {
	most, clientMost int
	yield            time.Duration

	mu            sync.Mutex // guards what follows
	local, remote int        // places taken
	clients       map[string]*clientPlaces
}

// clientPlaces are the places of one client.
type clientPlaces struct {
	taken int
	hosts map[string][]*Place // of a host, place i has the number i+1; nil: it is free
}

// A Place is that of one connection.
type Place struct {
	// Client is whose share the place is of: Local, or what Client returns of the address.
	Client string
	// Host is the address, or Local: a client of IPv6 may have many.
	Host string
	// Number tells the connections of a host apart: the lowest, from 1, that was free.
	Number int

	of     *Places
	nc     net.Conn
	silent atomic.Int64 // since when the peer is, in nanoseconds of 1970; 0: it is not
	yields atomic.Bool  // another has the place now
}

// NewPlaces returns places for as many connections of unix sockets and as many of the network. One
// client has clientMost of the latter. yield is the yield time; 0: YieldTime.
func NewPlaces(most, clientMost int, yield time.Duration) *Places {
	if yield <= 0 {
		yield = YieldTime
	}
	return &Places{most: most, clientMost: clientMost, yield: yield, clients: make(map[string]*clientPlaces)}
}

// Enter gives a connection of host, an address of client, a place. The place is nil if there is
// none; made says that another has lost its own for it: a Read of that one's connection has been
// interrupted, and Yields is true of it.
func (p *Places) Enter(nc net.Conn, client, host string, now time.Time) (place *Place, made bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full(client) {
		if made = p.makeRoom(client, now); !made {
			return nil, false
		}
	}
	c := p.clients[client]
	if c == nil {
		c = &clientPlaces{hosts: make(map[string][]*Place, 1)}
		p.clients[client] = c
	}
	all := c.hosts[host]
	i := slices.Index(all, nil)
	if i < 0 {
		i = len(all)
		all = append(all, nil)
		c.hosts[host] = all
	}
	place = &Place{Client: client, Host: host, Number: i + 1, of: p, nc: nc}
	all[i] = place
	c.taken++
	*p.count(client)++
	return place, made
}

// count returns the count that places of client belong to.
func (p *Places) count(client string) *int {
	if client == Local {
		return &p.local
	}
	return &p.remote
}

// full says whether there is no place for a connection of client.
func (p *Places) full(client string) bool {
	return *p.count(client) >= p.most || p.shareTaken(client)
}

// shareTaken says whether client has its share of the places of the network.
func (p *Places) shareTaken(client string) bool {
	c := p.clients[client]
	return client != Local && c != nil && c.taken >= p.clientMost
}

// makeRoom takes the place away from the peer that has been silent for longest among those whose
// place client could have.
func (p *Places) makeRoom(client string, now time.Time) bool {
	var silent *Place
	since := now.Add(-p.yield).UnixNano()
	longest := func(c *clientPlaces) {
		for _, all := range c.hosts {
			for _, o := range all {
				if o == nil {
					continue
				}
				if at := o.silent.Load(); at != 0 && at <= since {
					silent, since = o, at
				}
			}
		}
	}
	if client == Local || p.shareTaken(client) {
		if c := p.clients[client]; c != nil {
			longest(c)
		}
	} else {
		for name, c := range p.clients {
			if name != Local {
				longest(c)
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

// remove frees a place. One that has yielded is another's by now.
func (p *Places) remove(place *Place) {
	c := p.clients[place.Client]
	if c == nil {
		return
	}
	all := c.hosts[place.Host]
	if place.Number > len(all) || all[place.Number-1] != place {
		return
	}
	all[place.Number-1] = nil
	if !slices.ContainsFunc(all, func(o *Place) bool { return o != nil }) {
		delete(c.hosts, place.Host)
	}
	if c.taken--; c.taken == 0 {
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

// Silent notes that from now on nothing is worked on for the peer, and the server waits for it. The
// caller asks Yields once it has set the deadline of its Read, which may have undone an Interrupt.
func (p *Place) Silent(now time.Time) { p.silent.Store(now.UnixNano()) }

// Heard notes that the peer has sent something, or has gone.
func (p *Place) Heard() { p.silent.Store(0) }

// Yields reports whether the peer has lost its place because it was silent.
func (p *Place) Yields() bool { return p.yields.Load() }

// Interrupt ends a Read that waits.
func (p *Place) Interrupt() { _ = p.nc.SetReadDeadline(time.Unix(1, 0)) } // else it is closed
