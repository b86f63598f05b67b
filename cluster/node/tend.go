package node

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/wal"
)

// changesAtOnce bounds the changes of the map that a node writes at one look.
const changesAtOnce = 16

// tend does what a leader does for the log of its partition: it truncates the log, and learns from
// that whether the log is still its own and has lost nothing. A leader without writes would not
// notice.
func (n *Node) tend(ctx context.Context, l *local) {
	now := n.o.now()
	if now.Sub(l.truncated) < n.o.TruncateInterval {
		return
	}
	l.truncated = now
	r := l.replica
	n.run(ctx, l, taskTruncate, demoteTime, func(context.Context) (func(), error) {
		n.mu.Lock() // the task may begin late, and another replica may be taking a copy by now
		upto := n.needless(l, n.view, n.view.Map.Partitions[l.partition])
		n.mu.Unlock()
		// Also up to 0: that finds out whether the log is whole, and still its own.
		return nil, r.Truncate(upto)
	})
}

// needless returns the position up to which no replica of the map needs the log; 0: all of it may
// be needed. Replicas of nodes that are gone do not count. While this node does not see the
// cluster, a replica may begin to take a copy. n.mu is held.
func (n *Node) needless(l *local, v *coord.View, part placement.Partition) wal.Pos {
	if n.o.now().Sub(n.seen) > (copyNotice-1)*n.o.Times.Interval {
		return 0
	}
	upto := l.standing.Checkpoint
	nodes := part.Nodes
	if part.Move != nil {
		nodes = append(slices.Clone(nodes), part.Move.To)
	}
	for _, name := range nodes {
		m := v.Members[name]
		if name == n.o.Name || m == nil && n.forgotten(l, name) || m != nil && m.Gone {
			continue
		}
		if m == nil {
			return 0
		}
		upto = min(upto, n.needs(l, m))
	}
	return upto
}

// forgotten reports whether a node of the map has not announced itself for Times.Gone, as far as
// this leader knows. Its announcement was removed, or the store has lost it.
func (n *Node) forgotten(l *local, name string) bool {
	h := l.holds[name]
	if h == nil || h.session != "" {
		h = &hold{since: n.o.now()}
		l.holds[name] = h
	}
	return n.o.now().Sub(h.since) >= n.o.Times.Gone
}

// everything is a position that no replica needs.
const everything = wal.Pos(math.MaxUint64)

// A hold is the time for which the log is kept for a replica that does not follow.
type hold struct {
	session string    // of its node; another one begins anew. Empty: it does not announce itself
	since   time.Time // it has made no progress since
	copying bool      // it took a copy when it was seen last, or has failed to
	copied  uint64    // bytes of that
	lapsed  bool      // the log is no longer kept for it
}

// needs returns the position behind which the replica of another node needs the log:
//
//   - A replica that follows needs what is behind its checkpoint. So does one that waits for a
//     newer program: it goes on from there.
//   - A replica that takes a copy, or is about to, needs the whole log, because nobody knows yet
//     where the copy ends.
//   - A replica whose copy has failed needs nothing until its next copy begins.
//   - A replica that is halted is made anew, and needs nothing.
//
// A replica that does not follow and makes no progress for Times.Gone needs nothing any more. The
// time begins anew when its node does.
func (n *Node) needs(l *local, m *coord.Seen) wal.Pos {
	st, ok := m.Standing(l.partition)
	anew := !ok || st.Copying || st.Position == 0 && st.Checkpoint == 0
	switch {
	case anew, st.Outdated:
	case st.Halted:
		delete(l.holds, m.Name)
		return everything
	default:
		delete(l.holds, m.Name)
		return st.Checkpoint
	}
	now := n.o.now()
	h := l.holds[m.Name]
	if h == nil || !m.Live || h.session != m.Session { // silence has a bound of its own
		h = &hold{session: m.Session, since: now}
		l.holds[m.Name] = h
	}
	switch {
	case !anew && h.copying: // the copy is open, and waits for a newer program
		*h = hold{session: m.Session, since: now}
	case st.Copying && (!h.copying || st.Copied != h.copied):
		*h = hold{session: m.Session, since: now, copying: true, copied: st.Copied}
	case anew && h.copying && !st.Copying:
		return everything
	}
	if now.Sub(h.since) < n.o.Times.Gone {
		if anew {
			return 0
		}
		return st.Checkpoint
	}
	if !h.lapsed {
		h.lapsed = true
		n.o.Logger.Warn("the log is truncated although a replica may need it: the replica has made no progress for a long time, and will be copied",
			"partition", l.partition, "node", m.Name, "for", now.Sub(h.since))
	}
	return everything
}

// improve makes the changes of the map that are due, if this node is the first of those that live.
// If two believe so, the store takes the change of one.
func (n *Node) improve(ctx context.Context, v *coord.View) {
	for name, m := range v.Members {
		if m.Live && !m.Stopping && name < n.o.Name {
			return
		}
	}
	// An old view counts others as gone.
	if m := v.Members[n.o.Name]; m == nil || m.Stopping || !n.seesItself(v) {
		return
	}
	m, revision := v.Map, v.MapRevision
	// What this node has announced of itself is older than what it knows, by far if it was cut off.
	current := func(partition int, name string) bool {
		return v.Current(partition, name) && (name != n.o.Name || n.isCurrent(partition))
	}
	s := placement.Situation{Members: v.Placement(), Current: current, Moves: n.o.Moves}
	for range changesAtOnce {
		c, ok := m.Step(s)
		if !ok {
			return
		}
		next, err := m.Apply(c)
		if err == nil {
			call, cancel := context.WithTimeout(ctx, callTime)
			revision, err = coord.WriteMap(call, n.o.Store, next, revision)
			cancel()
		}
		if err != nil {
			if !errors.Is(err, coord.ErrConflict) {
				n.o.Logger.Warn("the map of partitions could not be changed, which is tried again", "change", c.String(), "err", err)
			}
			return
		}
		n.o.Logger.Info("the map of partitions has changed", "change", c.String(), "version", next.Version)
		m = next
	}
}
