package node

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/wal"
)

// prober answers probes.
type prober struct {
	Peers
	refuses bool
	asked   int
}

func (p *prober) Refuses(context.Context, coord.Member) bool {
	p.asked++
	return p.refuses
}

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
	if len(n.hurry) > 0 {
		t.Error("a slow node is given up")
	}
	p.refuses = true
	before := p.asked
	look(2 * time.Second)
	if p.asked != before+2 || len(n.hurry) != 1 {
		t.Errorf("asked %d times, and hurries: %v", p.asked-before, len(n.hurry) == 1)
	}
	if look(2*time.Second) || look(3*time.Second) {
		t.Error("the process has ended, and the node lives")
	}
	if !look(0) {
		t.Error("a node that announces itself again is dead")
	}
}

// A node that was started again at another address waited for 6 s until its former session was
// silent. Then a second node that was killed left partitions without a leader for that long.
func TestFormerSessionHasEnded(t *testing.T) {
	var started []func()
	p := &prober{}
	n := &Node{
		o:        Options{Name: "a", Address: "a:2", Session: "2", Peers: p, start: func(f func()) { started = append(started, f) }}.withDefaults(),
		suspects: make(map[string]*suspect), hurry: make(chan struct{}, 1),
	}
	former := coord.Member{Name: "a", Address: "a:1", Session: "1"}
	takes := func(silent time.Duration) bool {
		v := &coord.View{Members: map[string]*coord.Seen{"a": {Member: former, Silent: silent, Live: silent < 6*time.Second}}}
		n.mu.Lock()
		n.probe(t.Context(), v)
		n.view = v
		n.mu.Unlock()
		for _, f := range started {
			f()
		}
		started = nil
		return n.replaces(former)
	}
	if takes(0) || takes(time.Second) || takes(2*time.Second) || p.asked != 2 {
		t.Errorf("asked %d times; a process whose port is open is taken for ended", p.asked)
	}
	p.refuses = true
	if takes(0) || takes(250*time.Millisecond) || p.asked != 2 {
		t.Error("a process that announces itself is taken for ended")
	}
	if takes(time.Second) || !takes(time.Second) {
		t.Error("the process has ended, and its name is not free")
	}
}

// A node that did not take a lease itself learned of the next leader a second late.
func TestLooksOftenWithoutLeader(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	n := &Node{o: Options{Name: "a", now: func() time.Time { return now }}.withDefaults()}
	n.view = &coord.View{
		Leases: []coord.Lease{{Node: "b", Session: "1"}},
		Members: map[string]*coord.Seen{
			"b": {Member: coord.Member{Name: "b", Session: "1", Partitions: []coord.Standing{{Leads: true}}}, Live: true},
			"c": {Member: coord.Member{Name: "c", Session: "1", Partitions: []coord.Standing{{}}}, Live: true},
		},
	}
	for _, step := range []struct {
		what string
		do   func()
		want bool
	}{
		{"all live", func() {}, false},
		{"the leader has ended", func() { n.ended, n.view.Members["b"].Live = now, false }, true},
		{"another one has the lease", func() { n.view.Leases[0].Node = "c" }, true},
		{"and leads", func() { n.view.Members["c"].Partitions[0].Leads = true }, false},
		{"it has no lease any more", func() { n.view.Leases[0].Node = "" }, true},
		{"for long", func() { now = now.Add(6 * time.Second) }, false},
	} {
		if step.do(); n.awaits() != step.want {
			t.Errorf("%s: looks often: %v", step.what, !step.want)
		}
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
