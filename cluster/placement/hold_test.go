package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/cluster/placement"
)

// apply makes changes.
func apply(t *testing.T, m placement.Map, all ...placement.Change) placement.Map {
	t.Helper()
	for _, c := range all {
		var err error
		if m, err = m.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestHeldPartitionsStay: what an operator has moved stays, though loads and leaders are uneven
// then, until the node leaves or the partition is released.
func TestHeldPartitionsStay(t *testing.T) {
	all := members(3, 0)
	m, err := placement.New(6, 2, all)
	if err != nil {
		t.Fatal(err)
	}
	m, _ = settle(t, m, all)
	var moved []int
	for i, p := range m.Partitions {
		if slices.Contains(p.Nodes, "node0") && !slices.Contains(p.Nodes, "node1") {
			m = apply(t, m, placement.Change{Kind: placement.Begin, Partition: i, From: "node0", To: "node1"}, placement.Change{Kind: placement.Hold, Partition: i})
			moved = append(moved, i)
		}
	}
	if len(moved) == 0 {
		t.Fatal("nothing could be moved")
	}
	var led []int
	for i := range m.Partitions {
		if slices.Contains(m.Partitions[i].Nodes, "node2") {
			led = append(led, i)
			m = apply(t, m, placement.Change{Kind: placement.Prefer, Partition: i, To: "node2"}, placement.Change{Kind: placement.Hold, Partition: i})
		}
	}
	m, _ = settle(t, m, all)
	for _, i := range moved {
		if p := m.Partitions[i]; !p.Held || !slices.Contains(p.Nodes, "node1") || slices.Contains(p.Nodes, "node0") {
			t.Errorf("partition %d was moved back: %+v", i, p)
		}
	}
	for _, i := range led {
		if p := m.Partitions[i]; p.Nodes[0] != "node2" {
			t.Errorf("partition %d: %v: node2 was to be preferred", i, p.Nodes)
		}
	}

	leaves := slices.Clone(all)
	leaves[1].Leaving = true
	left, _ := settle(t, m, leaves)
	for i, p := range left.Partitions {
		if slices.Contains(p.Nodes, "node1") || len(p.Nodes) != 2 {
			t.Errorf("partition %d is on %v after node1 was to leave", i, p.Nodes)
		}
	}
	for i := range m.Partitions {
		m = apply(t, m, placement.Change{Kind: placement.Release, Partition: i})
	}
	m, _ = settle(t, m, all)
	if load, leads := loads(m, all); spread(load) > 1 || spread(leads) > 1 {
		t.Errorf("released, the replicas are %v and the preferred leaders %v", load, leads)
	}
}

// TestHeldMapsSettle: whatever is held, from whatever state, changes come to an end.
func TestHeldMapsSettle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		all := members(2+r.IntN(5), r.IntN(4))
		m := placement.Map{Version: 1, Replicas: 1 + r.IntN(3)}
		for range 1 + r.IntN(20) {
			p := placement.Partition{Held: r.IntN(2) == 0}
			for _, n := range r.Perm(len(all))[:1+r.IntN(min(3, len(all)))] {
				p.Nodes = append(p.Nodes, fmt.Sprintf("node%d", n))
			}
			m.Partitions = append(m.Partitions, p)
		}
		settled, _ := settle(t, m, all)
		for i, p := range settled.Partitions {
			if p.Held != m.Partitions[i].Held {
				t.Errorf("seed %d: partition %d was held: %v, and is: %v", seed, i, m.Partitions[i].Held, p.Held)
			}
			if want := min(m.Replicas, len(all)); len(p.Nodes) != want {
				t.Errorf("seed %d: partition %d has %d replicas, want %d", seed, i, len(p.Nodes), want)
			}
		}
	}
}
