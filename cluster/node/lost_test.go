package node

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seeds"
	"github.com/rondo-db/rondo/wal"
)

// settledWorld is a cluster without faults that has written for some minutes.
func settledWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := newWorld(seed)
	w.heal()
	w.flips = false
	w.await(t, func() bool { return w.unsettled() == "" })
	for range 4 * 60 {
		w.pass()
	}
	return w
}

// await lets time pass until done, for an hour at most.
func (w *world) await(t *testing.T, done func() bool) {
	t.Helper()
	for range 4 * 3600 {
		if w.pass(); len(w.wrong) > 0 {
			t.Fatal(w.wrong)
		}
		if done() {
			return
		}
	}
	t.Fatalf("an hour later: %s", w.unsettled())
}

// inPairs calls try with settled clusters whose first partition, part with the log g, has two
// replicas or more.
func inPairs(t *testing.T, worlds int, try func(seed uint64, w *world, part placement.Partition, g *modelLog)) {
	t.Helper()
	tried := false
	for seed := range uint64(worlds) {
		w := settledWorld(t, seed+1)
		if part := w.truth().Map.Partitions[0]; len(part.Nodes) >= 2 {
			tried = true
			try(seed+1, w, part, w.logs[0])
		}
	}
	if !tried {
		t.Error("no partition had a second replica")
	}
}

// The servers lose all of a log, or its end, while the nodes run: a replica that holds everything
// begins it anew, and no record is missing.
func TestLostLogIsBegunAnew(t *testing.T) {
	for seed := range uint64(40) {
		w := settledWorld(t, seed+1)
		for p, g := range w.logs {
			held := g.last()
			if seed%2 == 0 {
				g.lose(0)
			} else {
				g.lose(held - min(held, 3))
			}
			w.await(t, func() bool { return g.kept == nil })
			if g.last() < held {
				t.Fatalf("seed %d: partition %d: the log went on behind %d, and replicas held %d", seed+1, p, g.last(), held)
			}
		}
		w.await(t, func() bool { return w.unsettled() == "" })
	}
}

// A node whose disk is new does not begin an empty log while those that hold its records are away,
// and takes a copy when they are back.
func TestEmptyReplicaBeginsNoLostLog(t *testing.T) {
	inPairs(t, seeds.Often(13, 40), func(seed uint64, w *world, part placement.Partition, g *modelLog) {
		held := g.last()
		for _, h := range w.hosts {
			h.down()
		}
		g.lose(0)
		for _, h := range w.hosts {
			if h.name == part.Nodes[0] {
				delete(h.disk, 0)
				h.up()
			}
		}
		for range 4 * 300 {
			w.pass()
		}
		if g.last() > 0 {
			t.Fatalf("seed %d: somebody has begun the log who held nothing", seed)
		}
		for _, h := range w.hosts {
			if h.node == nil {
				h.up()
			}
		}
		var saved uint64
		for _, h := range w.hosts {
			saved = max(saved, uint64(h.disk[0].position))
		}
		w.await(t, func() bool { return w.unsettled() == "" })
		if uint64(g.last()) < saved {
			t.Fatalf("seed %d: the log is at %d, and disks had %d of %d", seed, g.last(), saved, held)
		}
	})
}

// The first leader of a partition names its log in the lease, and others keep the name.
func TestLeaseNamesLog(t *testing.T) {
	w := settledWorld(t, 4)
	w.hosts[0].down()
	for end := w.now.Add(time.Minute); w.now.Before(end); {
		w.pass()
	}
	for p, l := range w.truth().Leases {
		if want := "01000000000000000000000000000000"; l.Log != want {
			t.Errorf("the lease of partition %d names the log %q, want %s", p, l.Log, want)
		}
	}
}

// A replica on a disk that is not open yet may hold more than others: nobody begins the log anew
// before it says how far it is.
func TestLostLogAwaitsUnopenedReplica(t *testing.T) {
	inPairs(t, seeds.Often(13, 40), func(seed uint64, w *world, part placement.Partition, g *modelLog) {
		held := g.last()
		for _, h := range w.hosts {
			h.down()
		}
		g.lose(0)
		for _, h := range w.hosts {
			h.disk[0] = image{held - 2, g.kept.sums[held-2]}
			if h.name == part.Nodes[0] {
				h.disk[0] = image{held, g.kept.sums[held]}
				h.shut = w.now.Add(2 * time.Minute)
			}
			if !part.Has(h.name) {
				delete(h.disk, 0)
			}
			h.up()
		}
		w.await(t, func() bool { return g.kept == nil })
		if g.last() < held {
			t.Fatalf("seed %d: the log went on behind %d, and a disk had %d", seed, g.last(), held)
		}
		w.await(t, func() bool { return w.unsettled() == "" })
	})
}

// A node that is lost for good is not waited for once an operator has made it leave.
func TestLostLogAwaitsNoDrainedNode(t *testing.T) {
	inPairs(t, seeds.Often(6, 20), func(_ uint64, w *world, part placement.Partition, g *modelLog) {
		i := slices.IndexFunc(w.hosts, func(h *host) bool { return h.name == part.Nodes[1] })
		w.hosts[i].down()
		g.lose(0)
		if err := coord.SetLeaving(t.Context(), w.servers.Truth(), part.Nodes[1], true); err != nil {
			t.Fatal(err)
		}
		w.await(t, func() bool { return g.kept == nil })
	})
}

// A part of a replica may be further than the whole, as after a crash during a checkpoint. It needs
// the records in between, and begins no log behind them.
func TestUnevenReplicaBeginsNoLostLog(t *testing.T) {
	w := settledWorld(t, 2)
	g, tried := w.logs[0], false
	g.lose(0)
	w.await(t, func() bool {
		for _, h := range w.hosts {
			m := h.open[0]
			if m == nil || m.writer != 0 {
				continue
			}
			at := m.at.position
			if _, anew, err := h.node.Log(0, at); err != nil || !anew {
				continue
			}
			tried = true
			if _, anew, err := h.node.Log(0, at+1); err != nil || anew {
				t.Errorf("a replica that is at %d, and in parts behind that, may begin the log: %v", at, err)
			}
		}
		return g.kept == nil
	})
	if !tried {
		t.Error("no replica was to begin the log anew")
	}
}

// While the lease names no log, because an older program has written it, the replica's log counts.
func TestReplicaNamesLog(t *testing.T) {
	w := settledWorld(t, 2)
	tried := false
	for _, h := range w.hosts {
		for p, l := range h.node.locals {
			if l.replica == nil {
				continue
			}
			tried = true
			l.lease.Log = ""
			if id, anew, err := h.node.Log(p, l.standing.Position); id != (wal.ID{1}) || anew || err != nil {
				t.Errorf("partition %d of %s: %v, %v, %v", p, h.name, id, anew, err)
			}
			l.lease.Log = wal.ID{2, 0xab}.String()
			if id, _, err := h.node.Log(p, 0); id != (wal.ID{2, 0xab}) || err != nil {
				t.Errorf("partition %d of %s has the log %v, %v, and the lease names %s", p, h.name, id, err, l.lease.Log)
			}
			l.lease.Log = "02ab"
			if id, _, err := h.node.Log(p, 0); !errors.Is(err, core.ErrDamaged) {
				t.Errorf("partition %d of %s has the log %v, %v, and the lease names none", p, h.name, id, err)
			}
		}
	}
	if !tried {
		t.Error("no replica is open")
	}
}

// A leader that nobody writes to notices by itself that the log has lost its end, or all of it.
func TestIdleLeaderNoticesLoss(t *testing.T) {
	for _, all := range []bool{true, false} {
		w := settledWorld(t, 3)
		w.quiet = true
		for _, h := range w.hosts {
			h.node.o.DigestInterval = -1 // a digest writes records
		}
		for range 4 * 60 { // what is on its way ends
			w.pass()
		}
		g := w.logs[0]
		held := g.last()
		if all {
			g.lose(0)
		} else {
			g.lose(held - 5)
		}
		lost := w.now
		w.await(t, func() bool { return g.kept == nil })
		if took := w.now.Sub(lost); took > 3*time.Minute || g.last() != held {
			t.Errorf("%v after the loss it was begun anew behind %d, and replicas held %d", took, g.last(), held)
		}
	}
}

// A lease, or what a node says, that is damaged in the servers is written again by its owner, and
// nobody else leads meanwhile. A node that was started since could not read it.
func TestDamagedValueIsMended(t *testing.T) {
	w := settledWorld(t, 4)
	was := w.truth()
	for p := range was.Leases {
		w.servers.Damage(fmt.Sprintf("lease.0.%d", p))
	}
	for _, h := range w.hosts {
		w.servers.Damage("all.member." + h.name)
	}
	if v := newcomer(t, w); len(v.Problems) != len(w.hosts) || !v.Leases[0].Damaged || v.Leases[0].Node != "" {
		t.Fatalf("nothing is damaged: %+v, %v", v.Leases, v.Problems)
	}
	for name, m := range w.truth().Members {
		if m.Session == "" {
			t.Errorf("what %s has said is forgotten: %+v", name, m)
		}
	}
	for range 4 * 5 {
		w.pass()
	}
	v := newcomer(t, w)
	for p, l := range v.Leases {
		old := was.Leases[p]
		if l.Node != old.Node || l.Session != old.Session || l.Term != old.Term || l.Log != old.Log || l.Revision != w.truth().Leases[p].Revision || l.Damaged {
			t.Errorf("the lease of partition %d is %+v, and was %+v", p, l, old)
		}
	}
	if len(v.Problems) > 0 || len(w.wrong) > 0 {
		t.Error(v.Problems, w.wrong)
	}

	// A server that damages whatever it is given is not written to at each look.
	before := v.Leases[0].Revision
	writes := 0
	for range 4 * 30 {
		if now := newcomer(t, w).Leases[0].Revision; now != before {
			before = now
			writes++
			w.servers.Damage("lease.0.0")
		}
		if writes == 0 {
			w.servers.Damage("lease.0.0")
		}
		w.pass()
	}
	if writes < 2 || writes > 4 {
		t.Errorf("a lease was written %d times in 30 s", writes)
	}
}

// newcomer returns what a node sees that has just started.
func newcomer(t *testing.T, w *world) *coord.View {
	t.Helper()
	v, err := coord.NewWatcher(w.servers.Truth(), coord.Times{}, func() time.Time { return w.now }).Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}
