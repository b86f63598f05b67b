package placement

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of a map.
const (
	MaxPartitions = 4096 // as many as a reference to a series can name
	MaxReplicas   = 8
)

// A Map says which nodes keep which partition.
type Map struct {
	Cluster    string      `json:"cluster,omitempty"` // names the cluster; drawn at random once
	Version    uint64      `json:"version"`           // grows by one with each change
	Replicas   int         `json:"replicas"`          // of each partition, if there are enough nodes
	Partitions []Partition `json:"partitions"`        // as many as the cluster was created with
}

// A Partition names the nodes that keep one partition.
type Partition struct {
	// Nodes keep a replica. The first one is the preferred leader.
	Nodes []string `json:"nodes"`
	// Move is the move under way, or nil.
	Move *Move `json:"move,omitempty"`
	// Held: an operator has said where it is. It moves only off nodes that are gone or leave, and
	// neither loads nor zones move it, nor its preferred leader.
	Held bool `json:"held,omitempty"`
}

// A Move makes a new replica.
type Move struct {
	To   string `json:"to"`             // takes a copy, and is in Nodes when it is current
	From string `json:"from,omitempty"` // leaves Nodes then; empty: a replica was missing
}

// A Kind is what a change does.
type Kind int

// Kinds of changes.
const (
	Begin   Kind = iota + 1 // a move begins: To takes a copy
	Finish                  // To is current: it becomes a replica, and From no longer is
	Abandon                 // the move to To is given up: it is gone, or leaves
	Remove                  // From is no replica any more: there are more than Map.Replicas
	Prefer                  // To, a replica, becomes the preferred leader
	Hold                    // the partition stays where it is: see Partition.Held
	Release                 // it does so no more
)

// A Change is the least by which two maps differ.
type Change struct {
	Kind      Kind
	Partition int
	To, From  string // nodes, as the kind says
}

func (c Change) String() string {
	switch c.Kind {
	case Begin:
		if c.From != "" {
			return fmt.Sprintf("partition %d: a replica moves from %s to %s", c.Partition, c.From, c.To)
		}
		return fmt.Sprintf("partition %d: %s takes a new replica", c.Partition, c.To)
	case Finish:
		return fmt.Sprintf("partition %d: %s has become a replica", c.Partition, c.To)
	case Abandon:
		return fmt.Sprintf("partition %d: the move to %s is given up", c.Partition, c.To)
	case Remove:
		return fmt.Sprintf("partition %d: %s is no replica any more", c.Partition, c.From)
	case Prefer:
		return fmt.Sprintf("partition %d: %s is the preferred leader", c.Partition, c.To)
	case Hold:
		return fmt.Sprintf("partition %d: it is held where it is", c.Partition)
	case Release:
		return fmt.Sprintf("partition %d: it is held no more", c.Partition)
	default:
		return fmt.Sprintf("partition %d: no change", c.Partition)
	}
}

// Has reports whether a node keeps a replica, or takes a copy to become one.
func (p Partition) Has(node string) bool {
	return slices.Contains(p.Nodes, node) || p.Move != nil && p.Move.To == node
}

// planned returns the nodes as they are when the move under way has finished.
func (p Partition) planned() []string {
	if p.Move == nil {
		return p.Nodes
	}
	return append(without(p.Nodes, p.Move.From), p.Move.To)
}

// without returns a copy of nodes that lacks one of them.
func without(nodes []string, node string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == node })
}

// Apply returns the map after a change, with the next version. The map itself stays as it is. It
// returns an error if the change does not fit the map.
func (m Map) Apply(c Change) (Map, error) {
	if c.Partition < 0 || c.Partition >= len(m.Partitions) {
		return m, fmt.Errorf("the map has no partition %d", c.Partition)
	}
	p := &m.Partitions[c.Partition]
	moves := p.Move != nil && p.Move.To == c.To
	next := *p
	fits := true
	switch c.Kind {
	case Begin:
		fits = p.Move == nil && !slices.Contains(p.Nodes, c.To) && (c.From == "" || slices.Contains(p.Nodes, c.From))
		next.Move = &Move{c.To, c.From}
	case Finish:
		fits = moves
		if fits {
			next.Nodes, next.Move = p.planned(), nil
		}
	case Abandon:
		fits = moves
		next.Move = nil
	case Remove:
		fits = p.Move == nil && len(p.Nodes) > 1 && slices.Contains(p.Nodes, c.From)
		next.Nodes = without(p.Nodes, c.From)
	case Prefer:
		fits = slices.Contains(p.Nodes, c.To)
		next.Nodes = append([]string{c.To}, without(p.Nodes, c.To)...)
	case Hold:
		next.Held = true
	case Release:
		next.Held = false
	default:
		fits = false
	}
	if !fits {
		return m, fmt.Errorf("a change does not fit version %d of the map: %v", m.Version, c)
	}
	m.Version++
	m.Partitions = slices.Clone(m.Partitions)
	m.Partitions[c.Partition] = next
	return m, nil
}

// Validate returns an error if the map breaks a rule that Apply keeps.
func (m Map) Validate() error {
	if err := checkSize(len(m.Partitions), m.Replicas); err != nil {
		return err
	}
	for i, p := range m.Partitions {
		if len(p.Nodes) == 0 {
			return fmt.Errorf("partition %d has no replica", i)
		}
		seen := make(map[string]bool)
		for _, n := range p.Nodes {
			if n == "" || seen[n] {
				return fmt.Errorf("partition %d: a replica has no name, or one node has two: %q", i, p.Nodes)
			}
			seen[n] = true
		}
		if p.Move != nil && (p.Move.To == "" || seen[p.Move.To] || p.Move.From != "" && !seen[p.Move.From]) {
			return fmt.Errorf("partition %d: a move from %q to %q does not fit the replicas %q", i, p.Move.From, p.Move.To, p.Nodes)
		}
	}
	return nil
}

func checkSize(partitions, replicas int) error {
	if partitions < 1 || partitions > MaxPartitions {
		return fmt.Errorf("a cluster has 1 to %d partitions, not %d", MaxPartitions, partitions)
	}
	if replicas < 1 || replicas > MaxReplicas {
		return fmt.Errorf("a partition has 1 to %d replicas, not %d", MaxReplicas, replicas)
	}
	return nil
}

// ErrNoMembers says that no node may take a replica, because all leave or there are no nodes.
var ErrNoMembers = errors.New("the cluster has no node that may keep a partition")

// score says how well a node suits a partition: the higher the better. It is a hash of both, part
// of the protocol between nodes: nodes of different versions must agree.
func score(partition int, node string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(node) {
		h = (h ^ uint64(node[i])) * prime
	}
	// FNV-1a leaves the upper bits of short inputs nearly alike, so a finalizer mixes them.
	h ^= uint64(partition+1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
