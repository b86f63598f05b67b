package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/loglimit"
)

// A Node runs the partitions of one node.
type Node struct {
	o         Options
	announcer coord.Announcer
	watcher   *coord.Watcher
	tasks     sync.WaitGroup
	taskEnded chan struct{} // gets a value when a task ends; holds one
	began     time.Time     // set by Run
	announced bool          // the node is in the cluster; of Run's goroutine
	told      time.Time     // when the last successful announcement began; of Run's goroutine
	known     placement.Map // the newest map that Disk has; Run's goroutine sets it, under mu
	cluster   string        // that the replicas belong to; empty: none yet. As known
	keepAgain time.Time     // Disk is not asked to keep a map before; of Run's goroutine
	hurry     chan struct{} // Run looks at once; holds one
	failing   time.Time     // since when the servers do not answer, or zero; of Run's goroutine
	lines     loglimit.Limit[string]

	mu       sync.Mutex // guards what follows; not held while anything is waited for
	view     *coord.View
	seen     time.Time     // when that was
	unseen   error         // why a look since has failed, or nil
	first    time.Time     // when it looked at the cluster first; Run's goroutine sets it
	muted    error         // why the last announcement was not taken, or nil
	holds    time.Time     // until then nobody takes a lease that this node has, as far as it knows
	looked   chan struct{} // closed when a leader may have been found
	locals   map[int]*local
	suspects map[string]*suspect // by name
	ended    time.Time           // when a node was found to have ended last
	stopping bool
	closed   bool
	counts   Counts

	digesting    bool // a digest of one of the partitions is being taken
	cancelDigest context.CancelFunc
}

// Counts count what a node has done since it started.
type Counts struct {
	Promotions  uint64 // replicas that began to lead
	Handovers   uint64 // leases that were handed on
	Copies      uint64 // replicas that were made of a copy
	Quarantines uint64 // replicas that differed from the others
	Failures    uint64 // tasks that failed, and are tried again
}

// ErrOtherCluster says that the store has the map of another cluster than before.
var ErrOtherCluster = errors.New("the store has the map of another cluster")

// Counts returns what the node has done.
func (n *Node) Counts() Counts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counts
}

// Cluster returns the cluster that the node belongs to; empty: it has not been in one yet.
func (n *Node) Cluster() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cluster
}

// Blind returns how long ago the node has looked at the cluster with success, and why the last look
// has failed; 0: it never has. More than a few seconds say that it does not reach the store, or
// that the store has lost the map.
func (n *Node) Blind() (time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen.IsZero() {
		return 0, n.unseen
	}
	return n.o.now().Sub(n.seen), n.unseen
}

// Settles returns how long it takes until the node knows which others are silent: it has looked at
// the cluster for too short a time, or what it has announced of itself cannot be read yet. 0: it
// knows.
func (n *Node) Settles() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.first.IsZero() {
		return n.o.Times.Lease
	}
	left := n.first.Add(n.o.Times.Lease).Sub(n.o.now())
	if m := n.view.Members[n.o.Name]; m == nil || m.Session != n.o.Session {
		left = max(left, n.o.Times.Interval)
	}
	return max(left, 0)
}

// Unheard returns why the store does not take what the node announces, if that has lasted for so
// long that the node is silent to others; else nil.
func (n *Node) Unheard() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.view == nil || !n.unheard() {
		return nil
	}
	return n.muted
}

// Stop lets the node hand its leases on, and take none any more.
func (n *Node) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopping = true
}

// wake makes whoever waits for a leader look again. n.mu is held.
func (n *Node) wake() {
	close(n.looked)
	n.looked = make(chan struct{})
}

// Session returns the name of this start of the node.
func (n *Node) Session() string { return n.o.Session }

// mine reports whether this node, in this session, has the lease of a partition.
func (n *Node) mine(l *local) bool { return l.lease.Node == n.o.Name && l.lease.Session == n.o.Session }
