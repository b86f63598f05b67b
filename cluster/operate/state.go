package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// A State is the state of a cluster.
type State struct {
	Replicas   int    // that each partition is to have
	MapVersion uint64 // of the map of partitions
	Nodes      []Node // in order of names
	Partitions []Partition
	Problems   []Problem // the worst first
}

// Whole reports whether nothing is wrong.
func (s *State) Whole() bool {
	return !slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Severity <= Warning })
}

// A NodeState says what becomes of a node.
type NodeState string

// States of nodes.
const (
	Live     NodeState = "live"
	Stopping NodeState = "stopping" // it hands its leases on, and ends
	Leaving  NodeState = "leaving"  // its replicas are to move to others
	Left     NodeState = "left"     // it was to leave, and has no replica any more
	Silent   NodeState = "silent"   // it has lost its leases
	Gone     NodeState = "gone"     // silent for so long that its replicas are made anew elsewhere
)

// A Node is one node of a cluster.
type Node struct {
	Name, Address, Version, Zone string
	State                        NodeState
	Started                      time.Time     // by its own clock; zero: it does not say
	Silent                       time.Duration // 0: it lives
	Leads                        int           // partitions
	Replicas                     int           // that the map gives it
	Current                      int           // of these
	Lag                          uint64        // records, of all of these together
}

// A ReplicaState says what is the matter with a replica.
type ReplicaState string

// States of replicas.
const (
	Leads       ReplicaState = "leads"
	Current     ReplicaState = "current"
	Behind      ReplicaState = "behind"
	Copying     ReplicaState = "copying" // it is being made of a copy
	Missing     ReplicaState = "missing" // its node says nothing of it
	OfSilent    ReplicaState = "silent"  // its node is
	Quarantined ReplicaState = "quarantined"
	Halted      ReplicaState = "halted" // it cannot follow the log
)

// A Replica is a replica of a partition.
type Replica struct {
	Node       string
	State      ReplicaState
	Position   wal.Pos // all records up to it are applied
	Checkpoint wal.Pos // the log is not needed up to it
	Lag        uint64  // records behind the replica that is furthest
	Reason     string  // why it is quarantined or halted, where that is known
	Outdated   bool    // it is halted until a newer version of rondo runs on its node
	Lost       bool    // the log has lost records that it holds
}

// A Partition is one partition of a cluster.
type Partition struct {
	Leader   string    // empty: nobody leads
	Elect    string    // the node that has the lease and does not lead yet, or empty
	Replicas []Replica // the preferred leader first, one that is being made last
	Held     bool      // see placement.Partition
	Move     *placement.Move
	Problem  string // what is wrong, in words; empty: nothing
}

// StateOf returns the state that a view shows. A view without a map has no partitions.
func StateOf(v *coord.View) *State {
	s := &State{Replicas: v.Map.Replicas, MapVersion: v.Map.Version}
	for i := range v.Map.Partitions {
		s.Partitions = append(s.Partitions, partitionOf(v, i))
	}
	for name, m := range v.Members {
		s.Nodes = append(s.Nodes, nodeOf(name, m, s.Partitions))
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	s.judge(v)
	return s
}

func partitionOf(v *coord.View, i int) Partition {
	part := v.Map.Partitions[i]
	p := Partition{Held: part.Held, Move: part.Move}
	if m := v.Leader(i); m != nil {
		if st, ok := m.Standing(i); ok && st.Leads {
			p.Leader = m.Name
		} else {
			p.Elect = m.Name
		}
	}
	names := slices.Clone(part.Nodes)
	if part.Move != nil {
		names = append(names, part.Move.To)
	}
	furthest := wal.Pos(0)
	for _, name := range names {
		r := replicaOf(v.Members[name], i, p.Leader)
		r.Node = name
		if r.State == Missing && part.Move != nil && part.Move.To == name {
			r.State = Copying // it is about to say so
		}
		p.Replicas = append(p.Replicas, r)
		furthest = max(furthest, r.Position)
	}
	for k := range p.Replicas {
		p.Replicas[k].Lag = uint64(furthest - p.Replicas[k].Position)
	}
	return p
}

// replicaOf returns what a member, which may be nil, says of its replica.
func replicaOf(m *coord.Seen, partition int, leader string) Replica {
	if m == nil {
		return Replica{State: Missing}
	}
	st, ok := m.Standing(partition)
	r := Replica{Position: st.Position, Checkpoint: st.Checkpoint, Reason: st.Quarantine, Outdated: st.Outdated, Lost: st.Lost}
	switch {
	case !m.Live:
		r.State = OfSilent
	case st.Quarantine != "":
		r.State = Quarantined
	case st.Outdated:
		r.State, r.Reason = Halted, "it needs a newer version of rondo"
	case st.Copying:
		r.State = Copying
	case !ok:
		r.State = Missing
	case st.Halted:
		r.State, r.Reason = Halted, st.Trouble
	case m.Name == leader:
		r.State = Leads
	case st.Current:
		r.State = Current
	default:
		r.State, r.Reason = Behind, st.Trouble
	}
	return r
}

func nodeOf(name string, m *coord.Seen, parts []Partition) Node {
	n := Node{Name: name, Address: m.Address, Version: m.Version, Zone: m.Zone, Started: m.Started}
	holds := false
	for _, p := range parts {
		for _, r := range p.Replicas {
			if r.Node != name {
				continue
			}
			holds = true
			if p.Move != nil && p.Move.To == name {
				continue // it is no replica yet
			}
			n.Replicas++
			if r.State == Leads || r.State == Current {
				n.Current++
			}
			n.Lag += r.Lag
		}
		if p.Leader == name {
			n.Leads++
		}
	}
	if !m.Live {
		n.Silent = m.Silent
	}
	switch {
	case m.Leaving && !holds && n.Leads == 0:
		n.State = Left
	case m.Gone:
		n.State = Gone
	case !m.Live:
		n.State = Silent
	case m.Leaving:
		n.State = Leaving
	case m.Stopping:
		n.State = Stopping
	default:
		n.State = Live
	}
	return n
}

// Node returns a node by its name, or nil.
func (s *State) Node(name string) *Node {
	i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Nodes[i]
}

// An Observer looks at a cluster from outside: it is no node.
type Observer struct {
	watcher *coord.Watcher
	times   coord.Times
	known   map[string]bool // whether a node was heard since the first look; nil: there was none
	sleep   func(context.Context, time.Duration) error
}

// lookTime bounds one look: a server says nothing about a subject that a user may not ask about.
const lookTime = 10 * time.Second

// NewObserver returns an observer of the cluster that a store describes. now is the clock; nil:
// time.Now.
func NewObserver(s coord.Store, t coord.Times, now func() time.Time) *Observer {
	t = t.WithDefaults()
	return &Observer{watcher: coord.NewWatcher(s, t, now), times: t, sleep: sleep.For}
}

// Look returns what is to be seen. The first time it looks until each node has announced itself
// anew or counts as silent, because it knows nothing of the time before: a second or two if all
// nodes live, Times.Lease if one is silent. A node that is silent for longer is as silent as if it
// had fallen silent at the first look.
func (o *Observer) Look(ctx context.Context) (*coord.View, error) {
	for {
		call, cancel := context.WithTimeout(ctx, lookTime)
		v, err := o.watcher.Look(call)
		cancel()
		if err != nil {
			return nil, err
		}
		if o.heard(v) {
			return v, nil
		}
		if err := o.sleep(ctx, o.times.Interval/4); err != nil {
			return nil, fmt.Errorf("look at the cluster: %w", err)
		}
	}
}

// heard reports whether each node was heard since the first look, or counts as silent.
func (o *Observer) heard(v *coord.View) bool {
	again := o.known != nil
	if !again {
		o.known = make(map[string]bool)
	}
	all := true
	for name, m := range v.Members {
		o.known[name] = o.known[name] || again && m.Silent == 0 // it has announced itself since
		all = all && (o.known[name] || !m.Live)
	}
	return all
}
