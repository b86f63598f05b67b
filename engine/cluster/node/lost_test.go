package node

import (
	"testing"
	"time"
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
	tried := 0
	for seed := range uint64(40) {
		w := settledWorld(t, seed+1)
		part := w.truth().Map.Partitions[0]
		if len(part.Nodes) < 2 {
			continue
		}
		tried++
		g, held := w.logs[0], w.logs[0].last()
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
			t.Fatalf("seed %d: somebody has begun the log who held nothing", seed+1)
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
			t.Fatalf("seed %d: the log is at %d, and disks had %d of %d", seed+1, g.last(), saved, held)
		}
	}
	if tried == 0 {
		t.Error("no partition had a second replica")
	}
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
