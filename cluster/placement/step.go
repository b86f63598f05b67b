package placement

import (
	"fmt"
	"slices"
)

// A Situation is what a change depends on, beside the map.
type Situation struct {
	// Members are the nodes that belong to the cluster, in any order.
	Members []Member
	// Current reports whether a node has a replica of a partition that is whole and follows the log
	// closely. It is false for nodes that do not answer.
	Current func(partition int, node string) bool
	// Moves is how many moves may be under way at once; default 1.
	Moves int
}

// New returns the first map of a cluster: version 1. Nodes that are Full get replicas, too.
func New(partitions, replicas int, members []Member) (Map, error) {
	m := Map{Replicas: replicas, Partitions: make([]Partition, max(0, min(partitions, MaxPartitions)))}
	if err := checkSize(partitions, replicas); err != nil {
		return m, err
	}
	c := count(m, members)
	if c.want == 0 {
		return m, ErrNoMembers
	}
	for i := range c.members {
		c.members[i].Full = false
	}
	anyone := func(int, string) bool { return true }
	p := planner{census: c, parts: m.Partitions, free: anyone}
	for {
		move, ok := p.next()
		if !ok {
			break
		}
		part := &m.Partitions[move.Partition]
		part.Nodes = append(without(part.Nodes, move.From), move.To)
		if n, ok := c.number[move.From]; ok {
			c.load[n]--
		}
		c.load[c.number[move.To]]++
	}
	s := Situation{Members: members, Current: anyone}
	for {
		c, ok := m.prefer(count(m, members), s.Current)
		if !ok {
			m.Version = 1
			return m, nil
		}
		var err error
		if m, err = m.Apply(c); err != nil {
			return m, fmt.Errorf("make a map: %w", err)
		}
	}
}

// Step returns the change that comes next, and false if there is none, or none is possible now. The
// map after it may have another one.
func (m Map) Step(s Situation) (Change, bool) {
	c := count(m, s.Members)
	under := 0
	for i, p := range m.Partitions {
		switch move := p.Move; {
		case move == nil:
		case !c.stays(move.To):
			return Change{Kind: Abandon, Partition: i, To: move.To, From: move.From}, true
		case s.Current(i, move.To) && m.may(c, s, i, move.From):
			return Change{Kind: Finish, Partition: i, To: move.To, From: move.From}, true
		default:
			under++
		}
	}
	if x, ok := m.surplus(c, s); ok {
		return x, true
	}
	if under < max(1, s.Moves) {
		p := planner{census: c, parts: m.Partitions, free: func(i int, from string) bool {
			return m.Partitions[i].Move == nil && m.may(c, s, i, from) && m.source(s, i)
		}}
		if x, ok := p.next(); ok {
			return x, true
		}
	}
	return m.prefer(c, s.Current)
}

// may reports whether all replicas of a partition are current, other than from and replicas of
// nodes that are gone or leave.
func (m Map) may(c *census, s Situation, partition int, from string) bool {
	for _, name := range m.Partitions[partition].Nodes {
		if name != from && c.stays(name) && !s.Current(partition, name) {
			return false
		}
	}
	return true
}

// source reports whether a copy of a partition can be had.
func (m Map) source(s Situation, partition int) bool {
	return slices.ContainsFunc(m.Partitions[partition].Nodes, func(n string) bool { return s.Current(partition, n) })
}

// surplus finds a replica that is one too many, since Map.Replicas was lowered.
func (m Map) surplus(c *census, s Situation) (Change, bool) {
	for i, p := range m.Partitions {
		if p.Move != nil || len(p.Nodes) <= m.Replicas {
			continue
		}
		worst, rank := "", [4]int{}
		for _, name := range p.Nodes {
			var r [4]int
			n, member := c.number[name]
			switch {
			case !member:
				r[0] = 2
			case c.members[n].Leaving:
				r[0] = 1
			default:
				r[2], r[3] = c.mates(p.Nodes, n, name), c.load[n]
			}
			if !s.Current(i, name) {
				r[1] = 1
			}
			if worst == "" || slices.Compare(r[:], rank[:]) > 0 {
				worst, rank = name, r
			}
		}
		if m.may(c, s, i, worst) && slices.ContainsFunc(p.Nodes, func(n string) bool { return n != worst && s.Current(i, n) }) {
			return Change{Kind: Remove, Partition: i, From: worst}, true
		}
	}
	return Change{}, false
}

// prefer finds a partition whose preferred leader is gone, leaves, or leads two more than another
// replica does that is current.
func (m Map) prefer(c *census, current func(int, string) bool) (Change, bool) {
	for i, p := range m.Partitions {
		nodes := p.planned()
		first := nodes[0]
		leads := len(m.Partitions) + 2 // more than anybody: it is to lead no more
		if c.stays(first) {
			leads = c.leads[c.number[first]]
			if p.Held {
				continue
			}
		}
		best := ""
		for _, name := range nodes[1:] {
			if !slices.Contains(p.Nodes, name) || !c.stays(name) || !current(i, name) || c.leads[c.number[name]]+2 > leads {
				continue
			}
			if best == "" || c.leads[c.number[name]] < c.leads[c.number[best]] {
				best = name
			}
		}
		if best != "" {
			return Change{Kind: Prefer, Partition: i, To: best, From: first}, true
		}
	}
	return Change{}, false
}
