package clustered

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/peer"
)

var _ node.Peers = (*peers)(nil)

// peers are the connections to the other nodes. It is a node.Peers.
type peers struct {
	options peer.Options

	mu    sync.Mutex // guards what follows
	nodes map[string]*peerNode
}

// A peerNode is the connection to a node, as of one of its starts.
type peerNode struct {
	*peer.Node
	session string
}

// Partition is as node.Peers has it. It is the same one until the node starts anew.
func (p *peers) Partition(m coord.Member, partition int) (node.Partition, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodes[m.Name]
	if n == nil || n.session != m.Session {
		conn, err := peer.NewNode(p.scheme()+m.Address, p.options)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", m.Name, err)
		}
		if n != nil {
			n.Close()
		}
		n = &peerNode{conn, m.Session}
		p.nodes[m.Name] = n
	}
	return n.Partition(partition), nil
}

// scheme is what the addresses of nodes begin with.
func (p *peers) scheme() string {
	if p.options.TLS != nil {
		return "https://"
	}
	return "http://"
}

// Refuses is as node.Peers has it.
func (p *peers) Refuses(ctx context.Context, m coord.Member) bool {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = c.Close() // nothing was said
	return false
}

// close ends all connections.
func (p *peers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.nodes {
		n.Close()
	}
	clear(p.nodes)
}

// A State is what a node knows of its cluster and of itself.
type State struct {
	Nodes      int // that live
	Partitions int
	Leaderless int // partitions that no living node has the lease of

	Replicas int    // open here
	Leads    int    // of them, those that lead
	Halted   int    // of them, those that cannot follow
	Behind   uint64 // records that this node knows of and has not applied

	// Servers of NATS that keep the logs and the map, as far as they are known. Of them, those that
	// are missing, and those that are there and far behind.
	LogServers, LogServersMissing, LogServersBehind int

	node.Counts
}

// State returns the state of now.
func (m *Member) State() State {
	st := State{Counts: m.node.Counts()}
	if l := m.surveyor.known(context.Background()); l != nil {
		st.LogServers, st.LogServersMissing, st.LogServersBehind = len(l.Servers), l.Missing(), l.Behind()
	}
	v := m.node.View()
	if v == nil {
		return st
	}
	for _, x := range v.Members {
		if x.Live {
			st.Nodes++
		}
	}
	st.Partitions = len(v.Map.Partitions)
	for p := range v.Map.Partitions {
		if v.Leader(p) == nil {
			st.Leaderless++
		}
		r, ok := m.node.Local(p)
		if !ok {
			continue
		}
		st.Replicas++
		is := r.Standing()
		if is.Leads {
			st.Leads++
		}
		if is.Halted {
			st.Halted++
		}
		st.Behind += uint64(is.Newest - min(is.Position, is.Newest))
	}
	return st
}
