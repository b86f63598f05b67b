package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// digestShare is the part of the time that taking a digest may work.
const digestShare = 0.05

// compareShare is the same for Compare.
const compareShare = 0.5

// digestRetry is how long a node waits after a digest could not be taken.
const digestRetry = time.Minute

// compareTime is how long Compare waits for a replica once the leader has its digest.
const compareTime = time.Minute

// takeDigest lets the replicas of a partition take a digest if one is due and this node leads it.
// It runs beside other tasks: a leader may well hand its lease on meanwhile. n.mu is held.
func (n *Node) takeDigest(ctx context.Context, l *local) {
	now := n.o.now()
	if n.o.DigestInterval < 0 || n.digesting || l.replica == nil || !l.standing.Leads || now.Before(l.digestDue) {
		return
	}
	n.digesting = true
	r := l.replica
	own, cancel := context.WithCancel(ctx)
	n.cancelDigest = cancel
	n.o.start(func() {
		_, err := r.TakeDigest(own, digestShare)
		cancel()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.digesting, n.cancelDigest = false, nil
		l.digestDue = n.o.now().Add(n.o.DigestInterval)
		if err == nil {
			return
		}
		l.digestDue = n.o.now().Add(min(n.o.DigestInterval, digestRetry))
		if l.replica == r && !n.closed && !errors.Is(err, core.ErrUnavailable) {
			n.o.Logger.Warn("no digest of a partition could be taken", "partition", l.partition, "err", err)
		}
	})
}

// Compare lets all replicas of a partition that the map has take a digest now, while they are
// written, and returns what they took, in the order of the map. It works half of the time. A
// replica that did not take part, because it is down or cannot keep up, has an error of its own.
// The error says that the leader has no digest: it wraps core.ErrUnavailable if nobody leads, or
// another node has begun to.
func (n *Node) Compare(ctx context.Context, partition int) ([]coord.Digest, error) {
	if _, err := n.Leader(ctx, partition); err != nil { // it waits until somebody leads
		return nil, err
	}
	n.mu.Lock()
	v := n.view
	n.mu.Unlock()
	if partition < 0 || partition >= len(v.Map.Partitions) {
		return nil, fmt.Errorf("there is no partition %d", partition)
	}
	leader := n.o.Name
	if r, ok := n.Local(partition); !ok || !r.Standing().Leads {
		m := v.Leader(partition)
		if m == nil {
			return nil, fmt.Errorf("partition %d has no leader: %w", partition, core.ErrUnavailable)
		}
		leader = m.Name
	}
	own, err := n.digestOf(ctx, v, leader, partition, 0)
	if err != nil {
		return nil, fmt.Errorf("partition %d, whose leader is %s: %w", partition, leader, err)
	}
	var out []coord.Digest
	names := v.Map.Partitions[partition].Nodes
	if !slices.Contains(names, leader) {
		names = append([]string{leader}, names...)
	}
	for _, name := range names {
		d, err := own, error(nil)
		if name != leader {
			d, err = n.digestOf(ctx, v, name, partition, own.At)
		}
		out = append(out, coord.Digest{Node: name, Leads: name == leader, At: d.At, Sum: d.Sum, Err: err})
	}
	return out, nil
}

// digestOf returns the digest that a replica took at a position, or lets one that leads take a
// digest if the position is 0.
func (n *Node) digestOf(ctx context.Context, v *coord.View, node string, partition int, at wal.Pos) (d core.Digested, err error) {
	var r Digester
	if node == n.o.Name {
		var ok bool
		if r, ok = n.Local(partition); !ok {
			return d, fmt.Errorf("the replica is not open: %w", core.ErrUnavailable)
		}
	} else if m := v.Members[node]; m == nil || !m.Live {
		return d, fmt.Errorf("the node is not there: %w", core.ErrUnavailable)
	} else if r, err = n.o.Peers.Partition(m.Member, partition); err != nil {
		return d, err
	}
	if at == 0 {
		return r.TakeDigest(ctx, compareShare)
	}
	// It may believe that it leads, and stand still.
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	d.At = at
	d.Sum, err = r.AwaitDigest(ctx, at)
	return d, err
}

// A side is the replicas that have one digest.
type side struct {
	n     int
	leads bool   // the leader is one of them
	first string // by name
}

// compare puts a replica into quarantine if it differs from the others of the map at the same
// position: if more than half of those that live have another digest there, or if all have one and
// half of them, with the leader, whose replica is what others read, have another one. A replica
// that knows of damage does not count. n.mu is held.
func (n *Node) compare(l *local, v *coord.View, part placement.Partition) {
	if l.state != open || !part.Has(n.o.Name) {
		return
	}
	if l.standing.Damaged {
		if sound := n.sound(l, v, part); sound != "" {
			n.quarantine(l, sound, "its database is damaged")
		}
		return
	}
	if l.digest.At == 0 {
		return
	}
	mine := &side{n: 1, leads: l.standing.Leads}
	sides := map[uint64]*side{l.digest.Sum: mine}
	all, absent := 1, 0 // replicas that live, and how many of them have no digest there
	for _, name := range part.Nodes {
		m := v.Members[name]
		if m == nil || !m.Live || name == n.o.Name {
			continue
		}
		st, ok := m.Standing(l.partition)
		there := ok && st.DigestAt == l.digest.At
		if ok && (st.Quarantine != "" || st.Damaged || st.Halted && !there) {
			continue
		}
		if all++; !there {
			absent++
			continue
		}
		s := sides[st.Digest]
		if s == nil {
			s = &side{first: name}
			sides[st.Digest] = s
		}
		s.n, s.leads, s.first = s.n+1, s.leads || st.Leads, min(s.first, name)
	}
	for _, s := range sides {
		if s != mine && (2*s.n > all || absent == 0 && s.n == mine.n && s.leads) {
			n.quarantine(l, s.first, "it differs from the replica of "+s.first)
			return // of the others only one side is so large, or has the leader
		}
	}
}

// sound returns another node whose replica is current and knows of no damage, or "", as one view
// shows it that also has what this node says of its own damage. So of two replicas that find damage
// at the same time one sees that the other has it, and goes on. n.mu is held.
func (n *Node) sound(l *local, v *coord.View, part placement.Partition) string {
	own := v.Members[n.o.Name]
	if own == nil || own.Session != n.o.Session {
		return ""
	}
	if st, _ := own.Standing(l.partition); !st.Damaged {
		return ""
	}
	for _, name := range part.Nodes {
		if name == n.o.Name || !v.Current(l.partition, name) {
			continue
		}
		if st, _ := v.Members[name].Standing(l.partition); !st.Damaged {
			return name
		}
	}
	return ""
}

// quarantine lets a replica serve nothing, and be made anew of a copy of better's. n.mu is held.
func (n *Node) quarantine(l *local, better, why string) {
	l.breaks(why, better)
	n.counts.Quarantines++
	n.o.Logger.Error("a replica is in quarantine: it serves nothing, and is made anew of a copy",
		"partition", l.partition, "position", uint64(l.standing.Position), "from", better, "why", why)
}
