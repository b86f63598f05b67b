package node

import (
	"cmp"
	"errors"
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
