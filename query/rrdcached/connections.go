package rrdcached

import (
	"sync"
	"time"
)

// The sockets of this machine and TCP have places of their own, so that nobody on the network keeps local clients out; of those of TCP one
// address has a share. Where all are taken, a client that has been silent for a minute makes room for a new one.

// yieldTime is how long a client may be silent while others want its place.
const yieldTime = time.Minute

// unixPeer is the peer and the host of a connection to a unix socket.
const unixPeer = "unix"

// connections are those that are open.
type connections struct {
	most, hostMost int

	mu        sync.Mutex // guards what follows
	unix, tcp int
	byHost    map[string]int
	open      map[*conn]struct{}
}

// enter adds a connection, if there is a place for it, or one whose client is silent.
func (cs *connections) enter(c *conn, now time.Time) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.full(c) && !cs.makeRoom(c, now) {
		return false
	}
	if c.host == unixPeer {
		cs.unix++
	} else {
		cs.tcp++
		cs.byHost[c.host]++
	}
	cs.open[c] = struct{}{}
	return true
}

// full says whether there is no place for a connection.
func (cs *connections) full(c *conn) bool {
	if c.host == unixPeer {
		return cs.unix >= cs.most
	}
	return cs.tcp >= cs.most || cs.byHost[c.host] >= cs.hostMost
}

// makeRoom ends the connection that has been silent for longest among those whose place c could have.
func (cs *connections) makeRoom(c *conn, now time.Time) bool {
	var silent *conn
	since := now.Add(-yieldTime).UnixNano()
	ofHost := c.host == unixPeer || cs.byHost[c.host] >= cs.hostMost
	for o := range cs.open {
		if ofHost && o.host != c.host || o.host == unixPeer && c.host != unixPeer {
			continue
		}
		if at := o.silent.Load(); at != 0 && at <= since && !o.yields.Load() {
			silent, since = o, at
		}
	}
	if silent == nil {
		return false
	}
	silent.yields.Store(true)
	silent.interruptRead()
	cs.remove(silent)
	return true
}

// leave takes a connection away that has ended.
func (cs *connections) leave(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.remove(c)
}

// remove is leave under the lock. A connection that has made room is gone already.
func (cs *connections) remove(c *conn) {
	if _, ok := cs.open[c]; !ok {
		return
	}
	delete(cs.open, c)
	if c.host == unixPeer {
		cs.unix--
		return
	}
	cs.tcp--
	if cs.byHost[c.host]--; cs.byHost[c.host] == 0 {
		delete(cs.byHost, c.host)
	}
}

// count returns how many there are.
func (cs *connections) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.open)
}
