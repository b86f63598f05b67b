package node

import (
	"context"

	"github.com/rondo-db/rondo/engine/cluster/coord"
	"github.com/rondo-db/rondo/engine/cluster/placement"
)

// takeDigest takes a digest of a replica if one is due. It runs beside other tasks: a replica that
// is being read may well be promoted. n.mu is held.
func (n *Node) takeDigest(ctx context.Context, l *local) {
	now := n.o.now()
	if n.o.DigestInterval < 0 || l.digesting || l.replica == nil || l.standing.Halted || !l.current || now.Sub(l.digested) < n.o.DigestInterval {
		return
	}
	l.digesting = true
	r := l.replica
	n.o.start(func() {
		at, sum, err := r.Digest(ctx)
		n.mu.Lock()
		defer n.mu.Unlock()
		l.digesting = false
		if l.replica != r {
			return
		}
		if err != nil {
			n.o.Logger.Warn("no digest of a replica could be taken", "partition", l.partition, "err", err)
		}
		if err != nil || at == 0 {
			l.digested = n.o.now().Add(n.o.Times.Interval - n.o.DigestInterval) // at the next look but one
			return
		}
		l.digested, l.digestAt, l.digest = n.o.now(), at, sum
	})
}

// A side is the replicas that have one digest.
type side struct {
	votes int
	leads bool   // the leader is one of them
	first string // by name
}

// compare puts a replica into quarantine if it differs from the others at the same position: if
// more than half of the live replicas of the map have another digest there. If all have voted and
// as many have either digest, the leader is believed, whose replica is what others read. n.mu is
// held.
func (n *Node) compare(l *local, v *coord.View, part placement.Partition) {
	if l.digestAt == 0 || l.hurt != "" || l.replica == nil {
		return
	}
	sides := map[uint64]*side{l.digest: {votes: 1, leads: l.standing.Leads, first: n.o.Name}}
	voters, voted := 1, 1
	for _, name := range part.Nodes {
		m := v.Members[name]
		if m == nil || !m.Live || name == n.o.Name {
			continue
		}
		st, ok := m.Standing(l.partition)
		if ok && st.Quarantine != "" {
			continue
		}
		voters++
		if !ok || st.DigestAt != l.digestAt {
			continue
		}
		voted++
		s := sides[st.Digest]
		if s == nil {
			s = &side{first: name}
			sides[st.Digest] = s
		}
		s.votes++
		s.leads = s.leads || st.Leads
		s.first = min(s.first, name)
	}
	mine, against := sides[l.digest], ""
	for _, s := range sides {
		if s != mine && (2*s.votes > voters || voted == voters && s.votes == mine.votes && s.leads) {
			against = max(against, s.first)
		}
	}
	if against != "" {
		l.better = against
		l.hurt = "it differs from the replica of " + against
		n.counts.Quarantines++
		n.o.Logger.Error("a replica differs from the others and is in quarantine: it serves nothing, and is made anew of a copy",
			"partition", l.partition, "position", uint64(l.digestAt), "differs from", against)
	}
}
