package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

// The store of a cluster can lose the map of partitions. A bit flips in a file of one server, the
// server leaves out what it cannot read, and the other servers copy its state. So each node keeps
// the newest map that it has seen on its disk, and writes it again if the store has lost it.

// keep keeps the map of a view on the disk. It returns an error if the map is of another cluster,
// or if the first map that this node sees cannot be kept.
func (n *Node) keep(v *coord.View) error {
	m := v.Map
	if !v.HasMap() || n.known.Partitions != nil && m.Cluster == n.known.Cluster && (m.Version <= n.known.Version || n.o.now().Before(n.keepAgain)) {
		return nil
	}
	if n.cluster != "" && m.Cluster != n.cluster {
		return fmt.Errorf("%w: it is %q, and the replicas of this node are of %q", ErrOtherCluster, m.Cluster, n.cluster)
	}
	if err := n.o.Disk.Keep(m); err != nil {
		if n.cluster == "" || errors.Is(err, ErrOtherCluster) {
			return fmt.Errorf("keep the map of partitions: %w", err)
		}
		n.o.Logger.Warn("the map of partitions could not be kept on the disk, which is tried again in a minute", "version", m.Version, "err", err)
		n.keepAgain = n.o.now().Add(time.Minute)
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cluster, n.known = m.Cluster, m
	return nil
}

// restoreMap writes the map again once the store has lacked it for a while. A node that knows of a
// newer map on another live node leaves it to that one.
func (n *Node) restoreMap(ctx context.Context, v *coord.View) {
	if !v.MapLost || !v.HasMap() {
		n.mapLost = time.Time{}
		return
	}
	now := n.o.now()
	if n.mapLost.IsZero() {
		n.mapLost = now
	}
	if now.Sub(n.mapLost) < n.o.Times.Lease {
		return
	}
	for _, m := range v.Members {
		if m.Live && m.Cluster == v.Map.Cluster && m.MapVersion > v.Map.Version {
			return
		}
	}
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	switch _, err := coord.WriteMap(call, n.o.Store, v.Map, v.MapRevision); {
	case err == nil:
		n.o.Logger.Error("the servers had lost the map of partitions; this node has written it again", "cluster", v.Map.Cluster, "version", v.Map.Version)
	case !errors.Is(err, coord.ErrConflict): // another node has written it, or a server is late
		n.o.Logger.Warn("the servers have lost the map of partitions, and it could not be written again, which is tried again", "err", err)
	}
}

// mendAgain is the time between two attempts to write a lease again that is damaged.
const mendAgain = 10 * time.Second

// mends reports whether the leader is to write its lease again now, because the store has it
// damaged. Nodes that are started later could not read it.
func (n *Node) mends(l *local) bool {
	now := n.o.now()
	if !l.damaged || now.Sub(l.mended) < mendAgain {
		return false
	}
	l.mended = now
	return true
}
