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

// A ReplicaDigest is the digest of one replica of a partition.
type ReplicaDigest struct {
	Node  string
	Leads bool
	core.Digested
	Err error // why there is no digest, or nil
}

// Compare lets all replicas of a partition that the map has take a digest now, while they are
// written, and returns what they took, in the order of the map. It works half of the time. A
// replica that did not take part, because it is down or cannot keep up, has an error of its own.
// The error says that the leader has no digest: it wraps core.ErrUnavailable if nobody leads, or
// another node has begun to.
func (n *Node) Compare(ctx context.Context, partition int) ([]ReplicaDigest, error) {
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
	var out []ReplicaDigest
	names := v.Map.Partitions[partition].Nodes
	if !slices.Contains(names, leader) {
		names = append([]string{leader}, names...)
	}
	for _, name := range names {
		x := ReplicaDigest{Node: name, Leads: name == leader, Digested: own}
		if !x.Leads {
			x.Digested, x.Err = n.digestOf(ctx, v, name, partition, own.At)
		}
		out = append(out, x)
	}
	return out, nil
}

// digestOf returns the digest that a replica took at a position, or lets one that leads take a
// digest if the position is 0.
func (n *Node) digestOf(ctx context.Context, v *coord.View, node string, partition int, at wal.Pos) (d core.Digested, err error) {
	take := func(ctx context.Context, _ float64) (core.Digested, error) {
		return n.o.Peers.TakeDigest(ctx, v.Members[node].Member, partition)
	}
	await := func(ctx context.Context, at wal.Pos) (uint64, error) {
		return n.o.Peers.AwaitDigest(ctx, v.Members[node].Member, partition, at)
	}
	if node == n.o.Name {
		r, ok := n.Local(partition)
		if !ok {
			return d, fmt.Errorf("the replica is not open: %w", core.ErrUnavailable)
		}
		take, await = r.TakeDigest, r.AwaitDigest
	} else if m := v.Members[node]; m == nil || !m.Live {
		return d, fmt.Errorf("the node is not there: %w", core.ErrUnavailable)
	}
	if at == 0 {
		return take(ctx, compareShare)
	}
	// It may believe that it leads, and stand still.
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	d.At = at
	d.Sum, err = await(ctx, at)
	return d, err
}

// A ballot is the digest of one replica, as its node has announced it.
type ballot struct {
	node, copyOf string // as coord.Standing has it
	leads        bool
}

// A side is the replicas that have one digest.
type side struct {
	ballots []ballot
	leads   bool   // the leader is one of them
	first   string // by name
}

func (s *side) add(b ballot) {
	if s.first == "" || b.node < s.first {
		s.first = b.node
	}
	s.ballots, s.leads = append(s.ballots, b), s.leads || b.leads
}

// independent returns how many replicas of a side are not copies of others of it. Copies count with
// the replica that they were made of until the digests of all have agreed: if it was damaged
// before, so are they.
func (s *side) independent() int {
	family := make(map[string]string) // of each node, by its first member
	for _, b := range s.ballots {
		family[b.node] = b.node
	}
	for range s.ballots {
		for _, b := range s.ballots {
			if of, ok := family[b.copyOf]; ok {
				of = min(of, family[b.node])
				family[b.node], family[b.copyOf] = of, of
			}
		}
	}
	distinct := make(map[string]bool)
	for _, f := range family {
		distinct[f] = true
	}
	return len(distinct)
}

// beats reports whether a side is believed that has as many replicas as another one: it has more
// that are no copies, or else the leader, whose replica is what others read.
func (s *side) beats(other *side) bool {
	if a, b := s.independent(), other.independent(); a != b {
		return a > b
	}
	return s.leads
}

// compare puts a replica into quarantine if it differs from the others at the same position: if
// more than half of the replicas that live have another digest there, or if all have one, and as
// many as have its own have another one that is believed. A replica that the map has given to
// others votes for as long as it is there. n.mu is held.
func (n *Node) compare(l *local, v *coord.View, part placement.Partition) {
	if l.digest.At == 0 || l.hurt != "" || l.replica == nil {
		return
	}
	sides := map[uint64]*side{l.digest.Sum: {}}
	sides[l.digest.Sum].add(ballot{n.o.Name, l.copyOf, l.standing.Leads})
	all, absent := 1, 0 // replicas that live, and how many of them have no digest there
	for name, m := range v.Members {
		if m == nil || !m.Live || name == n.o.Name {
			continue
		}
		st, ok := m.Standing(l.partition)
		switch {
		case !slices.Contains(part.Nodes, name) && !st.Spare:
			continue
		case ok && (st.Quarantine != "" || st.Halted && st.DigestAt != l.digest.At):
			continue
		case !ok || st.DigestAt != l.digest.At:
			if !st.Spare {
				all, absent = all+1, absent+1
			}
			continue
		}
		all++
		if sides[st.Digest] == nil {
			sides[st.Digest] = &side{}
		}
		sides[st.Digest].add(ballot{name, st.CopyOf, st.Leads})
	}
	mine, against := sides[l.digest.Sum], ""
	for _, s := range sides {
		if s != mine && (2*len(s.ballots) > all || absent == 0 && len(s.ballots) == len(mine.ballots) && s.beats(mine)) {
			against = max(against, s.first)
		}
	}
	switch {
	case against != "":
		l.better = against
		l.hurt = "it differs from the replica of " + against
		n.counts.Quarantines++
		n.o.Logger.Error("a replica differs from the others and is in quarantine: it serves nothing, and is made anew of a copy",
			"partition", l.partition, "position", uint64(l.digest.At), "differs from", against)
	case absent == 0 && len(sides) == 1 && len(mine.ballots) > 1:
		l.copyOf = "" // what differs from now on was damaged here
	}
}
