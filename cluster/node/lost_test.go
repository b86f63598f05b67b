package node

import (
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
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

// hold lets time pass after a loss, until nobody leads partition p any more. It returns the replica
// that holds most. Nobody may write the log: what replicas hold would be lost.
func (w *world) hold(t *testing.T, p int) *model {
	t.Helper()
	for range 4 * 300 {
		if w.pass(); w.logs[p].kept == nil || len(w.wrong) > 0 {
			t.Fatalf("somebody has begun partition %d anew; %v", p, w.wrong)
		}
	}
	var most *model
	for _, h := range w.hosts {
		m := h.open[p]
		if m == nil {
			continue
		}
		if m.writer != 0 {
			t.Fatalf("%s leads partition %d at %d, and its log ends at %d", h.name, p, m.at.position, w.logs[p].last())
		}
		if most == nil || m.at.position > most.at.position {
			most = m
		}
	}
	return most
}

// begin lets a replica begin its log anew, as an operator says.
func (w *world) begin(t *testing.T, m *model) {
	t.Helper()
	v := w.truth()
	next := v.Leases[m.p].For(m.h.name, v.Members[m.h.name].Session)
	next.Begin = true
	if _, err := coord.WriteLease(t.Context(), w.servers.Truth(), m.p, v.Leases[m.p], next); err != nil {
		t.Fatal(err)
	}
}

// The servers lose all of a log, or its end, while the nodes run: nobody leads, and nothing is
// written in place of what replicas hold, until an operator lets the one that holds most begin the
// log anew. Then no record is missing.
func TestLostLogWaitsForAHand(t *testing.T) {
	for seed := range uint64(40) {
		w := settledWorld(t, seed+1)
		for p, g := range w.logs {
			held := g.last()
			if seed%2 == 0 {
				g.lose(0)
			} else {
				g.lose(held - min(held, 3))
			}
			w.begin(t, w.hold(t, p))
			w.await(t, func() bool { return g.kept == nil })
			if g.last() < held {
				t.Fatalf("seed %d: partition %d: the log went on behind %d, and replicas held %d", seed+1, p, g.last(), held)
			}
		}
		w.await(t, func() bool { return w.unsettled() == "" })
		for p, l := range w.truth().Leases {
			if l.Begin {
				t.Errorf("seed %d: partition %d may still be begun anew", seed+1, p)
			}
		}
	}
}

// A node whose disk is new does not begin an empty log while those that hold its records are away,
// and takes a copy when they are back.
func TestEmptyReplicaBeginsNoLostLog(t *testing.T) {
	inPairs(t, seedtest.Often(13, 40), func(seed uint64, w *world, part placement.Partition, g *modelLog) {
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
		w.begin(t, w.hold(t, 0))
		var saved wal.Pos
		for _, h := range w.hosts {
			saved = max(saved, h.disk[0].position)
		}
		w.await(t, func() bool { return w.unsettled() == "" })
		if g.last() < saved {
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

// A part of a replica may be further than the whole, as after a crash during a checkpoint. It needs
// the records in between, and begins no log behind them.
func TestUnevenReplicaBeginsNoLostLog(t *testing.T) {
	w := settledWorld(t, 2)
	g := w.logs[0]
	g.lose(0)
	m := w.hold(t, 0)
	l := m.h.node.locals[0]
	if _, anew, err := m.h.node.Log(0, m.at.position); err != nil || anew {
		t.Errorf("a replica may begin the log, and nobody has said so: %v", err)
	}
	l.lease.Begin, l.lease.Node, l.lease.Session = true, m.h.name, m.h.node.Session()
	if _, anew, err := m.h.node.Log(0, m.at.position); err != nil || !anew {
		t.Errorf("a replica that is to begin the log may not: %v", err)
	}
	if _, anew, err := m.h.node.Log(0, m.at.position+1); err != nil || anew {
		t.Errorf("a replica that is at %d, and in parts behind that, may begin the log: %v", m.at.position, err)
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
		w.hold(t, 0)
	}
}
