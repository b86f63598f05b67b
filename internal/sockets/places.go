package sockets

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// YieldTime is how long a peer may be silent while others want its place.
const YieldTime = time.Minute

// Places bounds the connections of one listener, or of several together. Connections to unix
// sockets have places of their own, so that nobody on the network keeps this machine's programs
// out. One host on the network has a share of those of the network. Where there is no place for a
// connection, the peer among those whose place it could have that has been silent for longest makes
// room for it, if that was for the yield time at least.
type Places struct {
	most, hostMost int
	yield          time.Duration

	mu            sync.Mutex // guards what follows
	local, remote int        // places taken
	hosts         map[string]*hostPlaces
}

// hostPlaces are the places of one host.
type hostPlaces struct {
	taken int
	all   []*Place // place i has the number i+1; nil: it is free
}

// A Place is that of one connection.
type Place struct {
	// Host is whose share the place is of: Local, or what the owner of the listener counts as one.
	Host string
	// Number tells the connections of a host apart: the lowest, from 1, that was free.
	Number int

	of     *Places
	nc     net.Conn
	silent atomic.Int64 // since when the peer is, in nanoseconds of 1970; 0: it is not
	yields atomic.Bool  // another has the place now
}

// NewPlaces returns places for as many connections of unix sockets and as many of the network. One
// host has hostMost of the latter. yield is the yield time; 0: YieldTime.
func NewPlaces(most, hostMost int, yield time.Duration) *Places {
	if yield <= 0 {
		yield = YieldTime
	}
	return &Places{most: most, hostMost: hostMost, yield: yield, hosts: make(map[string]*hostPlaces)}
}

// Enter gives a connection of host a place. The place is nil if there is none; made says that
// another has lost its own for it: a Read of that one's connection has been interrupted, and
// Yields is true of it.
func (p *Places) Enter(nc net.Conn, host string, now time.Time) (place *Place, made bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full(host) {
		if made = p.makeRoom(host, now); !made {
			return nil, false
		}
	}
	h := p.hosts[host]
	if h == nil {
		h = new(hostPlaces)
		p.hosts[host] = h
	}
	i := 0
	for i < len(h.all) && h.all[i] != nil {
		i++
	}
	if i == len(h.all) {
		h.all = append(h.all, nil)
	}
	place = &Place{Host: host, Number: i + 1, of: p, nc: nc}
	h.all[i] = place
	h.taken++
	*p.count(host)++
	return place, made
}

// count returns the count that places of host belong to.
func (p *Places) count(host string) *int {
	if host == Local {
		return &p.local
	}
	return &p.remote
}

// full says whether there is no place for a connection of host.
func (p *Places) full(host string) bool {
	return *p.count(host) >= p.most || p.shareTaken(host)
}

// shareTaken says whether host has its share of the places of the network.
func (p *Places) shareTaken(host string) bool {
	h := p.hosts[host]
	return host != Local && h != nil && h.taken >= p.hostMost
}

// makeRoom takes the place away from the peer that has been silent for longest among those whose
// place host could have.
func (p *Places) makeRoom(host string, now time.Time) bool {
	var silent *Place
	since := now.Add(-p.yield).UnixNano()
	longest := func(h *hostPlaces) {
		for _, o := range h.all {
			if o == nil {
				continue
			}
			if at := o.silent.Load(); at != 0 && at <= since {
				silent, since = o, at
			}
		}
	}
	if host == Local || p.shareTaken(host) {
		if h := p.hosts[host]; h != nil {
			longest(h)
		}
	} else {
		for name, h := range p.hosts {
			if name != Local {
				longest(h)
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
	h := p.hosts[place.Host]
	if h == nil || place.Number > len(h.all) || h.all[place.Number-1] != place {
		return
	}
	h.all[place.Number-1] = nil
	if h.taken--; h.taken == 0 {
		delete(p.hosts, place.Host)
	}
	*p.count(place.Host)--
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
