package node

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/wal"
)

// measure compares the replicas with what a view says of the others. n.mu is held.
func (n *Node) measure(v *coord.View) {
	now := n.o.now()
	fresh := n.fresh()
	for _, l := range n.locals {
		l.standing, l.current = Standing{}, false
		if l.replica == nil {
			continue
		}
		s := l.replica.Standing()
		l.standing, l.digest = s, l.replica.LastDigest()
		switch {
		case !s.Leads:
			l.led = time.Time{}
			clear(l.holds)
		case l.led.IsZero():
			l.led = now
		}
		kept := s.Leads || n.keeps(v, l.partition)
		switch {
		case kept:
			l.spare = time.Time{}
		case l.spare.IsZero():
			l.spare = now
		}
		reference, empty := s.Newest, false
		for _, m := range v.Members {
			if st, ok := m.Standing(l.partition); ok && m.Name != n.o.Name && st.Quarantine == "" {
				reference = max(reference, st.Position)
				empty = empty || m.Live && st.Leads && st.Position == 0
				l.lost = l.lost && !(m.Live && st.Leads) // that one has the log
			}
		}
		// A replica that holds nothing, in touch with nobody, would be level with everybody.
		knows := s.Position > 0 || empty
		l.current = s.Leads || l.measured && fresh && s.Err == nil && !s.Halted && knows && s.Position >= l.reference
		l.current = l.current && l.state == open && kept
		l.measured, l.reference = true, max(l.reference, reference)
	}
}

// keeps reports whether the map of a view gives a partition to this node.
func (n *Node) keeps(v *coord.View, partition int) bool {
	return partition < len(v.Map.Partitions) && v.Map.Partitions[partition].Has(n.o.Name)
}

// fresh reports whether the node has seen the others within the time after which it would be silent
// to them. If not, it was stopped or cut off, and does not know how far the others have come
// meanwhile. n.mu is held.
func (n *Node) fresh() bool { return n.o.now().Sub(n.seen) < n.o.Times.Lease }

// isCurrent reports whether the replica here of a partition is current.
func (n *Node) isCurrent(partition int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.locals[partition]
	return l != nil && l.current
}

// standings returns what the node says of its replicas. n.mu is held.
func (n *Node) standings() []coord.Standing {
	var all []coord.Standing
	fresh := n.fresh()
	for _, l := range n.locals {
		st := coord.Standing{Partition: l.partition, Quarantine: l.why, Copying: l.state >= due, Outdated: l.outdated}
		if l.taking != nil {
			st.Copied = l.taking.bytes.Load()
		}
		if l.replica != nil {
			s := l.replica.Standing()
			st.Position, st.Checkpoint, st.Leads = s.Position, s.Checkpoint, s.Leads
			// Both are of now. A replica that is halted for good needs nothing of the log.
			st.Halted, st.Outdated, st.Damaged = s.Halted, s.Outdated, s.Damaged
			st.Current, st.Spare = l.current && fresh, !l.spare.IsZero()
			st.Trouble, st.Lost = troubleOf(s), !s.Leads && (l.lost || errors.Is(s.Err, wal.ErrLost))
			st.DigestAt, st.Digest = l.digest.At, l.digest.Sum
		} else if l.state == absent && !l.outdated {
			continue
		} else {
			st.Closed = l.state == closed || l.state == broken
		}
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b coord.Standing) int { return cmp.Compare(a.Partition, b.Partition) })
	return all
}

// mostTrouble is how many bytes a node says of why a replica cannot read its log.
const mostTrouble = 160

// troubleOf returns why a replica cannot read its log, in a line.
func troubleOf(s Standing) string {
	if s.Err == nil || s.Leads {
		return ""
	}
	text := strings.ReplaceAll(s.Err.Error(), "\n", "; ")
	return strings.ToValidUTF8(text[:min(len(text), mostTrouble)], "")
}

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
