package clustered

import (
	"sync"
	"testing"

	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal/jetstream"
)

// A standingReplica is a store that says how far it is.
type standingReplica struct {
	node.Replica
	store    *core.Store
	standing node.Standing
}

func (r *standingReplica) Engine() core.Engine     { return r.store }
func (r *standingReplica) Standing() node.Standing { return r.standing }

// Replicas whose log is half full write a checkpoint, if that helps, and not one after the other.
// Small logs filled up with less than the records after which a store writes one by itself, and
// updates were refused until its time came.
func TestRelief(t *testing.T) {
	a := &standingReplica{store: store(t, "a"), standing: node.Standing{Position: 5, Checkpoint: 4}}
	b := &standingReplica{store: store(t, "b"), standing: node.Standing{Position: 5, Checkpoint: 5}}
	replicas := []*standingReplica{a, b, nil}
	var running sync.WaitGroup
	r := newRelief(func(p int) (node.Replica, bool) { return replicas[p], replicas[p] != nil }, &running)
	before := [2]uint64{a.store.Stats().Checkpoints, b.store.Stats().Checkpoints}
	find := func(full int, wantA, wantB uint64) {
		t.Helper()
		k := jetstream.StreamHealth{Full: full}
		r.found(t.Context(), &operate.LogServers{Logs: []jetstream.StreamHealth{k, k, k}})
		running.Wait()
		if gotA, gotB := a.store.Stats().Checkpoints-before[0], b.store.Stats().Checkpoints-before[1]; gotA != wantA || gotB != wantB {
			t.Errorf("%d and %d checkpoints of logs full to %d %%, want %d and %d", gotA, gotB, full, wantA, wantB)
		}
	}
	find(49, 0, 0)
	find(50, 1, 0)
	find(50, 1, 0) // just now
	r.busy.Store(false)
	b.standing.Checkpoint = 4
	find(90, 2, 1)
}
