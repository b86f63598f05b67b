package node

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/cluster/coord"
	"github.com/rondo-db/rondo/engine/cluster/placement"
	"github.com/rondo-db/rondo/wal"
)

// prober answers probes.
type prober struct {
	Peers
	refuses bool
	asked   int
	lost    []string
}

func (p *prober) Refuses(context.Context, coord.Member) bool {
	p.asked++
	return p.refuses
}

func (p *prober) Lost(m coord.Member) { p.lost = append(p.lost, m.Name) }

// The leases of a node that was killed were free after 6 s only; one that is slow must keep them.
func TestNodeWhoseProcessHasEnded(t *testing.T) {
	var started []func()
	p := &prober{}
	n := &Node{
		o:        Options{Name: "a", Peers: p, start: func(f func()) { started = append(started, f) }}.withDefaults(),
		suspects: make(map[string]*suspect), hurry: make(chan struct{}, 1),
	}
	// look shows node b as it is after some silence, and returns whether it lives.
	look := func(silent time.Duration) bool {
		v := &coord.View{Members: map[string]*coord.Seen{
			"a": {Member: coord.Member{Name: "a"}, Live: true},
			"b": {Member: coord.Member{Name: "b", Session: "1"}, Silent: silent, Live: silent < 6*time.Second},
		}}
		n.mu.Lock()
		n.probe(t.Context(), v)
		n.view = v
		n.mu.Unlock()
		for _, f := range started {
			f()
		}
		started = nil
		return v.Members["b"].Live
	}
	if !look(0) || p.asked > 0 {
		t.Errorf("a node that announces itself was probed %d times", p.asked)
	}
	for range 3 { // it is slow
		if !look(time.Second) {
			t.Error("a node that is slow counts as dead")
		}
	}
	if len(n.hurry) > 0 || len(p.lost) > 0 {
		t.Error("a slow node is given up")
	}
	p.refuses = true
	before := p.asked
	look(2 * time.Second)
	if p.asked != before+2 || len(n.hurry) != 1 {
		t.Errorf("asked %d times, and hurries: %v", p.asked-before, len(n.hurry) == 1)
	}
	if look(2*time.Second) || len(p.lost) != 1 {
		t.Errorf("the process has ended, and the node lives; lost %v", p.lost)
	}
	if look(3*time.Second) || len(p.lost) != 1 {
		t.Errorf("it is lost again: %v", p.lost)
	}
	if !look(0) {
		t.Error("a node that announces itself again is dead")
	}
}

// The replicas of a new cluster hold nothing, and waited for better ones for 12 s.
func TestForemostReplica(t *testing.T) {
	part := placement.Partition{Nodes: []string{"a", "b"}}
	seen := func(name string, live bool, position wal.Pos, halted bool) *coord.Seen {
		return &coord.Seen{Member: coord.Member{Name: name, Partitions: []coord.Standing{{Position: position, Halted: halted}}}, Live: live}
	}
	silent := func(name string, live bool) *coord.Seen {
		return &coord.Seen{Member: coord.Member{Name: name}, Live: live}
	}
	for _, test := range []struct {
		what, name string
		position   wal.Pos
		newest     wal.Pos
		others     []*coord.Seen
		want       bool
	}{
		{"the first one of a new cluster", "a", 0, 0, []*coord.Seen{seen("b", true, 0, false), silent("c", true)}, true},
		{"the second one", "b", 0, 0, []*coord.Seen{seen("a", true, 0, false), silent("c", true)}, false},
		{"the second one, and the first cannot lead", "b", 0, 0, []*coord.Seen{seen("a", true, 0, true), silent("c", true)}, true},
		{"the other one is not open yet", "a", 0, 0, []*coord.Seen{silent("b", true)}, false},
		{"the other one is away", "a", 5, 5, []*coord.Seen{seen("b", false, 5, false)}, false},
		{"the other one is further", "a", 5, 5, []*coord.Seen{seen("b", true, 6, false)}, false},
		{"it is further than the first one", "b", 6, 6, []*coord.Seen{seen("a", true, 5, false)}, true},
		{"the log is further", "a", 5, 6, []*coord.Seen{seen("b", true, 5, false)}, false},
		{"it holds nothing, and a node is away", "a", 0, 0, []*coord.Seen{seen("b", true, 0, false), silent("c", false)}, false},
		{"it holds nothing, and a spare replica does", "a", 0, 0, []*coord.Seen{seen("b", true, 0, false), seen("c", true, 9, false)}, false},
	} {
		n := &Node{o: Options{Name: test.name}}
		v := &coord.View{Members: map[string]*coord.Seen{test.name: {Member: coord.Member{Name: test.name}, Live: true}}}
		for _, m := range test.others {
			v.Members[m.Name] = m
		}
		l := &local{replica: &database{}, measured: true, standing: Standing{Position: test.position, Newest: test.newest}}
		if got := n.foremost(l, v, part); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}
