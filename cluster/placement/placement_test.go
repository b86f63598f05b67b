package placement_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/cluster/placement"
)

// everywhere says that all replicas are current.
func everywhere(int, string) bool { return true }

// members returns n nodes in a number of zones, turn by turn; zones 0 gives none a zone.
func members(n, zones int) []placement.Member {
	var all []placement.Member
	for i := range n {
		m := placement.Member{Name: fmt.Sprintf("node%d", i)}
		if zones > 0 {
			m.Zone = fmt.Sprintf("zone%d", i%zones)
		}
		all = append(all, m)
	}
	return all
}

// settle makes all changes, with everything current, and returns the map and how many replicas
// moved to which node.
func settle(t *testing.T, m placement.Map, all []placement.Member) (placement.Map, map[string]int) {
	t.Helper()
	moved := make(map[string]int)
	for steps := 0; ; steps++ {
		c, ok := m.Step(placement.Situation{Members: all, Current: everywhere})
		if !ok {
			return m, moved
		}
		if steps > 6*len(m.Partitions)*(m.Replicas+1)+10 {
			t.Fatalf("the map has not settled after %d changes; the next is %v", steps, c)
		}
		if c.Kind == placement.Finish {
			moved[c.To]++
		}
		var err error
		if m, err = m.Apply(c); err != nil {
			t.Fatal(err)
		}
		if err := m.Validate(); err != nil {
			t.Fatalf("after %v: %v", c, err)
		}
	}
}

func loads(m placement.Map, all []placement.Member) (load, leads map[string]int) {
	load, leads = make(map[string]int), make(map[string]int)
	for _, x := range all {
		load[x.Name], leads[x.Name] = 0, 0
	}
	for _, p := range m.Partitions {
		for i, n := range p.Nodes {
			load[n]++
			if i == 0 {
				leads[n]++
			}
		}
	}
	return load, leads
}

func spread(counts map[string]int) int {
	least, most := 1<<30, 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	return most - least
}

// shared counts the replicas that share their zone with another of their partition.
func shared(m placement.Map, all []placement.Member) int {
	zone := make(map[string]string)
	for _, x := range all {
		zone[x.Name] = x.Zone
	}
	total := 0
	for _, p := range m.Partitions {
		seen := make(map[string]bool)
		for _, n := range p.Nodes {
			if seen[zone[n]] {
				total++
			}
			seen[zone[n]] = true
		}
	}
	return total
}

// sizes calls fn with random sizes of clusters.
func sizes(t *testing.T, seeds int, fn func(t *testing.T, r *rand.Rand, partitions, replicas, nodes int)) {
	t.Helper()
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 14))
		fn(t, r, 1+r.IntN(64), 1+r.IntN(4), 1+r.IntN(12))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func mustNew(t *testing.T, partitions, replicas int, all []placement.Member) placement.Map {
	t.Helper()
	m, err := placement.New(partitions, replicas, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFirstMap: without zones all nodes have equally many replicas, within one, and the map is
// settled from the beginning. The order in which members are named makes no difference.
func TestFirstMap(t *testing.T) {
	sizes(t, 150, func(t *testing.T, r *rand.Rand, partitions, replicas, nodes int) {
		all := members(nodes, 0)
		m := mustNew(t, partitions, replicas, all)
		for i, p := range m.Partitions {
			if len(p.Nodes) != min(replicas, nodes) {
				t.Errorf("partition %d has the replicas %q, want %d", i, p.Nodes, min(replicas, nodes))
			}
		}
		load, leads := loads(m, all)
		if spread(load) > 1 {
			t.Errorf("%d partitions, %d replicas: loads %v", partitions, replicas, load)
		}
		if most := (partitions+nodes-1)/nodes + 1; slices.Max(values(leads)) > most {
			t.Errorf("%d partitions, %d replicas: leaders %v, want %d at most", partitions, replicas, leads, most)
		}
		if c, ok := m.Step(placement.Situation{Members: all, Current: everywhere}); ok {
			t.Errorf("the first map is not settled: %v", c)
		}
		r.Shuffle(nodes, func(i, j int) { all[i], all[j] = all[j], all[i] })
		if again := mustNew(t, partitions, replicas, all); fmt.Sprint(again) != fmt.Sprint(m) {
			t.Errorf("the same members in another order give another map:\n%v\n%v", m, again)
		}
	})
}

func values(m map[string]int) []int {
	var all []int
	for _, n := range m {
		all = append(all, n)
	}
	return all
}

// TestZones: if there are as many zones as replicas, and they have equally many nodes, no two
// replicas of a partition share a zone, and loads are level.
func TestZones(t *testing.T) {
	sizes(t, 150, func(t *testing.T, r *rand.Rand, partitions, replicas, _ int) {
		zones := replicas + r.IntN(3)
		all := members(zones*(1+r.IntN(4)), zones)
		m := mustNew(t, partitions, replicas, all)
		if n := shared(m, all); n > 0 {
			t.Errorf("%d partitions, %d replicas, %d nodes, %d zones: %d replicas share a zone", partitions, replicas, len(all), zones, n)
		}
		if load, _ := loads(m, all); spread(load) > 2 {
			t.Errorf("%d partitions, %d replicas, %d nodes, %d zones: loads %v", partitions, replicas, len(all), zones, load)
		}
	})
}

// TestUnevenZones: a zone with fewer nodes gets a replica of each partition, as long as its nodes
// need not have more than one and a half times the average.
func TestUnevenZones(t *testing.T) {
	all := []placement.Member{{Name: "a1", Zone: "a"}, {Name: "a2", Zone: "a"}, {Name: "b1", Zone: "b"}}
	m := mustNew(t, 16, 2, all)
	if n := shared(m, all); n > 0 {
		t.Errorf("%d of 16 partitions have both replicas in one zone: %v", n, m)
	}
	for range 4 {
		all = append(all, placement.Member{Name: fmt.Sprintf("a%d", len(all)), Zone: "a"})
	}
	m, _ = settle(t, m, all)
	load, _ := loads(m, all)
	if load["b1"] != 7 { // 32/7 times one and a half
		t.Errorf("one node of seven in a zone of its own has %d of 32 replicas, want 7: %v", load["b1"], load)
	}
}

// TestJoinMovesToTheJoiner: no two of the nodes that were there exchange a replica, and the one
// that joins gets its share.
func TestJoinMovesToTheJoiner(t *testing.T) {
	sizes(t, 150, func(t *testing.T, _ *rand.Rand, partitions, replicas, nodes int) {
		all := members(nodes, 0)
		m := mustNew(t, partitions, replicas, all)
		joined := append(all, placement.Member{Name: "joiner"})
		m, moved := settle(t, m, joined)
		for name, n := range moved {
			if name != "joiner" {
				t.Errorf("%d partitions, %d replicas, %d nodes: %d replicas moved to %s when another joined", partitions, replicas, nodes, n, name)
			}
		}
		if load, _ := loads(m, joined); spread(load) > 1 {
			t.Errorf("%d partitions, %d replicas, %d nodes and one more: loads %v", partitions, replicas, nodes, load)
		}
	})
}

// TestLossMovesTheLost: if a node is lost, or leaves, its replicas are made anew, and hardly any
// other moves.
func TestLossMovesTheLost(t *testing.T) {
	sizes(t, 150, func(t *testing.T, r *rand.Rand, partitions, replicas, nodes int) {
		all := members(nodes+1, 0)
		m := mustNew(t, partitions, replicas, all)
		before, _ := loads(m, all)
		i := r.IntN(len(all))
		lost := all[i].Name
		left := slices.Delete(slices.Clone(all), i, i+1)
		if r.IntN(2) == 0 {
			left = append(left, placement.Member{Name: lost, Leaving: true})
		}
		after, moved := settle(t, m, left)
		total := 0
		for _, n := range moved {
			total += n
		}
		if nodes >= replicas && (total < before[lost] || total > before[lost]+len(left)) {
			t.Errorf("%d partitions, %d replicas, %d nodes: %d replicas were made when one with %d was lost", partitions, replicas, nodes+1, total, before[lost])
		}
		load, leads := loads(after, nil)
		if nodes >= replicas && (load[lost] > 0 || leads[lost] > 0) {
			t.Errorf("%s still has %d replicas and leads %d partitions", lost, load[lost], leads[lost])
		}
	})
}

// TestFullNodes: nodes without room keep what they have and get no more, and get their share when
// they have room again. The first map does not look at that.
func TestFullNodes(t *testing.T) {
	sizes(t, 150, func(t *testing.T, r *rand.Rand, partitions, replicas, nodes int) {
		all := members(nodes+1, r.IntN(3))
		m := mustNew(t, partitions, replicas, all)
		for i := range all {
			all[i].Full = r.IntN(2) == 0
		}
		if full := mustNew(t, partitions, replicas, all); !reflect.DeepEqual(m, full) {
			t.Errorf("%d partitions, %d replicas, %d nodes: the first map is another one if some are full", partitions, replicas, nodes+1)
		}
		after := append(slices.Clone(all), placement.Member{Name: "joiner", Full: r.IntN(2) == 0})
		after[r.IntN(len(all))].Leaving = true
		m, moved := settle(t, m, after)
		for _, x := range after {
			if x.Full && moved[x.Name] > 0 {
				t.Errorf("%d partitions, %d replicas, %d nodes: %d replicas moved to %s, which is full", partitions, replicas, nodes+2, moved[x.Name], x.Name)
			}
		}
		for i := range after {
			after[i].Full, after[i].Leaving, after[i].Zone = false, false, ""
		}
		m, _ = settle(t, m, after)
		if load, _ := loads(m, after); spread(load) > 1 {
			t.Errorf("%d partitions, %d replicas, %d nodes: loads %v when there is room", partitions, replicas, nodes+2, load)
		}
	})
}

// TestAnyHistory lets nodes come, go, leave and lag while a cluster moves, and the number of
// replicas change. No change lessens the current replicas of a partition. The map settles whenever
// nothing happens any more, with loads within their bound.
func TestAnyHistory(t *testing.T) {
	sizes(t, 100, func(t *testing.T, r *rand.Rand, partitions, replicas, nodes int) {
		h := &history{r: r, all: members(nodes, r.IntN(4)), lags: make(map[string]bool)}
		h.m = mustNew(t, partitions, replicas, h.all)
		for range 200 {
			h.event()
			h.step(t)
		}
		for i := range h.all {
			h.all[i].Leaving = h.all[i].Leaving && i > 0 // somebody stays
		}
		m, _ := settle(t, h.m, h.all)
		staying := slices.DeleteFunc(slices.Clone(h.all), func(x placement.Member) bool { return x.Leaving })
		want := min(m.Replicas, len(staying))
		load, _ := loads(m, staying)
		most := (3*want*partitions + 2*len(staying) - 1) / (2 * len(staying))
		for _, x := range staying {
			if load[x.Name] > most {
				t.Errorf("%s has %d replicas, more than %d: %v", x.Name, load[x.Name], most, load)
			}
		}
		for i, p := range m.Partitions {
			here := slices.DeleteFunc(slices.Clone(p.Nodes), func(n string) bool {
				return !slices.ContainsFunc(staying, func(x placement.Member) bool { return x.Name == n })
			})
			if p.Move != nil || len(here) != want || !slices.Contains(here, p.Nodes[0]) {
				t.Errorf("partition %d has settled as %+v, want %d replicas among %v", i, p, want, staying)
			}
		}
	})
}

// A history is a cluster to which things happen.
type history struct {
	r    *rand.Rand
	m    placement.Map
	all  []placement.Member
	lags map[string]bool // "partition/node": is not current
	made int
}

// event lets something happen, or nothing.
func (h *history) event() {
	switch i := h.r.IntN(len(h.all)); h.r.IntN(12) {
	case 0:
		h.made++
		h.all = append(h.all, placement.Member{Name: fmt.Sprintf("new%d", h.made), Zone: fmt.Sprintf("zone%d", h.r.IntN(3))})
	case 1:
		if len(h.all) > 1 {
			h.all = slices.Delete(h.all, i, i+1)
		}
	case 2:
		h.all[i].Leaving = !h.all[i].Leaving
	case 3:
		h.lags[fmt.Sprintf("%d/%s", h.r.IntN(len(h.m.Partitions)), h.all[i].Name)] = true
	case 4:
		clear(h.lags)
	case 5:
		h.m.Replicas = 1 + h.r.IntN(4)
	}
}

// current: a node that is gone has no current replica.
func (h *history) current(p int, node string) bool {
	return slices.ContainsFunc(h.all, func(m placement.Member) bool { return m.Name == node }) && !h.lags[fmt.Sprintf("%d/%s", p, node)]
}

func (h *history) step(t *testing.T) {
	limit := 1 + h.r.IntN(2)
	c, ok := h.m.Step(placement.Situation{Members: h.all, Current: h.current, Moves: limit})
	if !ok {
		return
	}
	next, err := h.m.Apply(c)
	if err == nil {
		err = next.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	have := func(m placement.Map) int {
		n := 0
		for _, node := range m.Partitions[c.Partition].Nodes {
			if h.current(c.Partition, node) {
				n++
			}
		}
		return n
	}
	if before, after := have(h.m), have(next); after < before && after < h.m.Replicas || after == 0 && before > 0 {
		t.Errorf("%v: %d replicas are current after it, %d before", c, after, before)
	}
	moves := 0
	for _, p := range next.Partitions {
		if p.Move != nil {
			moves++
		}
	}
	if c.Kind == placement.Begin && moves > limit {
		t.Errorf("%v: %d moves are under way, want %d at most", c, moves, limit)
	}
	if next.Version != h.m.Version+1 {
		t.Errorf("version %d after %d", next.Version, h.m.Version)
	}
	h.m = next
}

// TestMoveWaits: a move begins only when the replicas that stay are current, ends only when the new
// one is, and is given up when its node goes.
func TestMoveWaits(t *testing.T) {
	all := members(3, 0)
	m := placement.Map{Version: 1, Replicas: 2, Partitions: []placement.Partition{{Nodes: []string{"node0", "lost"}}}}
	current := map[string]bool{}
	s := placement.Situation{Members: all, Current: func(_ int, n string) bool { return current[n] }}
	wants := func(kind placement.Kind) {
		t.Helper()
		c, ok := m.Step(s)
		if kind == 0 && ok || c.Kind != kind {
			t.Fatalf("with %v current: %v, want kind %d", current, c, kind)
		}
		if ok {
			var err error
			if m, err = m.Apply(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	wants(0)
	current["node0"] = true
	wants(placement.Begin)
	to := m.Partitions[0].Move.To
	wants(0)
	s.Members = slices.DeleteFunc(slices.Clone(all), func(x placement.Member) bool { return x.Name == to })
	wants(placement.Abandon)
	wants(placement.Begin)
	to = m.Partitions[0].Move.To
	current[to], current["node0"] = true, false
	wants(0)
	current["node0"] = true
	wants(placement.Finish)
	if got := m.Partitions[0]; !slices.Equal(got.Nodes, []string{"node0", to}) || got.Move != nil {
		t.Errorf("after the move: %+v", got)
	}
	wants(0)
}

// TestMapAsJSON: nodes of different versions read each other's maps.
func TestMapAsJSON(t *testing.T) {
	m := mustNew(t, 4, 2, members(3, 0))
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version":1,"replicas":2,"partitions":[` +
		`{"nodes":["node1","node0"]},{"nodes":["node1","node2"]},{"nodes":["node2","node0"]},{"nodes":["node0","node2"]}]}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
}

// BenchmarkStep is a large cluster whose map is settled: what each node computes all the time.
func BenchmarkStep(b *testing.B) {
	all := members(60, 3)
	m, err := placement.New(placement.MaxPartitions, 3, all)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if c, ok := m.Step(placement.Situation{Members: all, Current: everywhere}); ok {
			b.Fatal(c)
		}
	}
}
