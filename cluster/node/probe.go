package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

const (
	// probeTime bounds both questions of a probe.
	probeTime = 2 * time.Second
	// probeAgain is the time between them.
	probeAgain = 300 * time.Millisecond
	// hasty is how many looks a node takes in the time of one, while it waits for the next leader.
	hasty = 4
)

// A suspect is a session of a node that was probed.
type suspect struct {
	session string
	probing bool
	ended   bool // its process has ended
}

// probe asks nodes that have missed an announcement whether they have ended. One that has is taken
// for dead. A node that is only slow still has its port open. To be wrong would cost a change of
// leaders, and no record. An earlier session of this node, at another address, is asked as well:
// when it has ended this one takes its place. n.mu is held.
func (n *Node) probe(ctx context.Context, v *coord.View) {
	// In order, so that a simulation repeats.
	for _, name := range slices.Sorted(maps.Keys(v.Members)) {
		m := v.Members[name]
		if name == n.o.Name && m.Session == n.o.Session {
			continue
		}
		s := n.suspects[name]
		if s == nil || s.session != m.Session {
			s = &suspect{session: m.Session}
			n.suspects[name] = s
		}
		switch {
		case m.Silent == 0: // it has announced itself since
			s.ended = false
		case s.ended:
			m.Live = false
		case m.Live && !s.probing && m.Silent > n.o.Times.Interval/2: // not since a hasty look only
			s.probing = true
			n.ask(ctx, s, m.Member)
		}
	}
}

// ask asks twice whether a node has ended. If so the node looks at the cluster at once. n.mu is
// held.
func (n *Node) ask(ctx context.Context, s *suspect, m coord.Member) {
	p := n.o.Peers
	n.o.start(func() {
		call, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		ended := p.Refuses(call, m)
		if ended {
			_ = n.o.pause(call, probeAgain) // the second question fails at once if call has ended
			ended = p.Refuses(call, m)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		s.probing, s.ended = false, ended
		if ended {
			n.ended = n.o.now()
			n.o.Logger.Info("the process of a node has ended; others take its leases", "node", m.Name)
			n.hurried()
		}
	})
}

// hurried makes the node look at the cluster at once. n.mu need not be held.
func (n *Node) hurried() {
	select {
	case n.hurry <- struct{}{}:
	default: // it will
	}
}

// awaits reports whether a node has ended lately, and a partition has no leader, as far as this
// node has heard: then it looks more often. n.mu need not be held.
func (n *Node) awaits() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended.IsZero() || n.o.now().Sub(n.ended) >= n.o.Times.Lease {
		return false
	}
	for p := range n.view.Leases {
		m := n.view.Leader(p)
		if m == nil {
			return true
		}
		if st, _ := m.Standing(p); !st.Leads {
			return true
		}
	}
	return false
}
