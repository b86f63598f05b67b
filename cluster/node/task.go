package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/wal"
)

// The tasks of a partition. One of them runs at a time.
const (
	taskOpen     = "open"
	taskCopy     = "copy"
	taskRemove   = "remove"
	taskPromote  = "promote"
	taskDemote   = "demote"
	taskTruncate = "truncate"
)

const (
	callTime    = 2 * time.Second // for a call of the cluster's store
	promoteTime = time.Minute     // after which another node may try
	demoteTime  = time.Minute
	retryFirst  = time.Second // after a task failed
	retryLast   = time.Minute
	retryLead   = 2 * time.Second // at most, of what writers wait for
)

// run starts a task of a partition. n.mu is held, and do is called without it. What do returns is
// done with it.
func (n *Node) run(ctx context.Context, l *local, task string, limit time.Duration, do func(context.Context) (func(), error)) {
	l.busy = task
	ctx, cancel := context.WithCancel(ctx)
	if limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	l.cancel = cancel
	n.o.start(func() {
		then, err := do(ctx)
		cancel()
		n.mu.Lock()
		defer n.mu.Unlock()
		l.busy, l.cancel = "", nil
		n.wake()
		if then != nil {
			then()
		}
		if err == nil {
			l.failures = 0
			return
		}
		n.counts.Failures++
		l.failures++
		last := retryLast
		if task == taskPromote {
			last = retryLead
		}
		l.retry = n.o.now().Add(min(retryFirst<<min(l.failures-1, 10), last))
		if !n.closed && l.failures&(l.failures-1) == 0 { // the first, second, fourth, and so on
			n.o.Logger.Warn("a task failed and is tried again", "task", task, "partition", l.partition, "failures", l.failures, "err", err)
		}
	})
}

// open opens a replica that is on disk, or an empty one.
func (n *Node) open(ctx context.Context, l *local) {
	n.run(ctx, l, taskOpen, 0, func(ctx context.Context) (func(), error) {
		r, err := n.o.Disk.Open(ctx, l.partition)
		if errors.Is(err, ErrBroken) {
			return func() { l.breaks(err.Error(), "") }, err
		}
		if err != nil {
			return l.refused(err), err
		}
		return func() { l.opened(r) }, nil
	})
}

// copy makes the replica of a copy of another node's, in place of what is there.
func (n *Node) copy(ctx context.Context, l *local, from *coord.Member) {
	old := l.takes()
	taking := l.taking
	if l.failures == 0 {
		n.o.Logger.Info("a replica is copied from another node", "partition", l.partition, "from", from.Name, "why", l.why)
	}
	n.run(ctx, l, taskCopy, 0, func(ctx context.Context) (func(), error) {
		if old != nil {
			if err := old.Close(); err != nil { // what it held is thrown away
				n.o.Logger.Warn("a replica was closed with an error", "partition", l.partition, "err", err)
			}
		}
		if err := n.restore(ctx, l.partition, from, taking); err != nil {
			return func() { l.copyFailed(from.Name, err) }, fmt.Errorf("copy from %s: %w", from.Name, err)
		}
		r, err := n.o.Disk.Open(ctx, l.partition)
		if err != nil {
			return func() { l.state, l.why = copied, "" }, err
		}
		return func() {
			n.counts.Copies++
			l.opened(r)
		}, nil
	})
}

// remove removes a replica from the disk.
func (n *Node) remove(ctx context.Context, l *local) {
	old, was := l.replica, l.state
	if l.replica = nil; was == open {
		l.state = closed
	}
	n.o.Logger.Info("a replica is removed: other nodes have the partition", "partition", l.partition)
	n.run(ctx, l, taskRemove, 0, func(context.Context) (func(), error) {
		if n.wants(l.partition) { // by now
			return func() { l.replica, l.state = old, was }, nil
		}
		if old != nil {
			if err := old.Close(); err != nil {
				n.o.Logger.Warn("a replica was closed with an error", "partition", l.partition, "err", err)
			}
		}
		if err := n.o.Disk.Remove(l.partition); err != nil {
			return nil, err
		}
		return func() { delete(n.locals, l.partition) }, nil
	})
}

// wants reports whether the map gives a partition to this node.
func (n *Node) wants(partition int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.view.Map.Partitions[partition].Has(n.o.Name)
}

// promote makes a replica lead. It does nothing if the lease is another node's by now, or may be: a
// promotion that begins late, because the process was stopped, say, would take the log from the
// next leader.
func (n *Node) promote(ctx context.Context, l *local) {
	r := l.replica
	n.run(ctx, l, taskPromote, promoteTime, func(ctx context.Context) (func(), error) {
		n.mu.Lock()
		lost, term, begin := !n.holdsLease(l) || !n.fresh(), l.lease.Term, l.lease.Begin
		n.mu.Unlock()
		if lost {
			return n.hurried, nil // the next look decides
		}
		if begin { // the new log does not have what the replica holds
			if err := r.Checkpoint(ctx); err != nil {
				return nil, err
			}
		}
		if err := r.Promote(ctx); err != nil {
			return func() { l.lost = errors.Is(err, wal.ErrLost) }, err
		}
		return func() {
			n.counts.Promotions++
			l.term, l.lost = term, false
			n.hurried() // the others learn from the announcement who leads
		}, nil
	})
}

// nameLog returns a function that notes in the lease which log a partition has, once its leader has
// begun it. It is called without n.mu.
func (n *Node) nameLog(ctx context.Context, l *local) func() {
	former, next := l.lease, l.lease
	next.Log, next.Begin = l.standing.Log.String(), false
	return func() {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		lease, err := coord.WriteLease(ctx, n.o.Store, l.partition, former, next)
		if err != nil {
			return // the next look does it
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		l.has(lease)
	}
}

// demote makes a leader a follower. If to is given it hands the lease on then, or gives it up if to
// has no name.
func (n *Node) demote(ctx context.Context, l *local, to *coord.Member) {
	r, lease := l.replica, l.lease
	n.run(ctx, l, taskDemote, demoteTime, func(ctx context.Context) (func(), error) {
		err := r.Demote(ctx)
		if to == nil || err != nil && r.Standing().Leads {
			return nil, err
		}
		next, e := coord.WriteLease(ctx, n.o.Store, l.partition, lease, lease.For(to.Name, to.Session))
		if e != nil {
			return func() { l.given = true }, e
		}
		return func() {
			n.counts.Handovers++
			l.has(next)
		}, nil
	})
}

// writeLease returns a function that gives a lease to a node, or gives it up. It is short, and
// called without n.mu.
func (n *Node) writeLease(ctx context.Context, l *local, node, session string) func() {
	former := l.lease
	return func() {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		lease, err := coord.WriteLease(ctx, n.o.Store, l.partition, former, former.For(node, session))
		if err != nil {
			n.mu.Lock()
			l.given = l.given || node != n.o.Name
			n.mu.Unlock()
			if !errors.Is(err, coord.ErrConflict) {
				n.o.Logger.Warn("a lease could not be written, which is tried again", "partition", l.partition, "err", err)
			}
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		l.has(lease)
		if n.mine(l) && l.replica != nil && l.busy == "" && !n.closed {
			n.promote(context.WithoutCancel(ctx), l)
		}
	}
}
