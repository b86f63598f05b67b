package placement

import (
	"cmp"
	"slices"
)

// A Member is a node that belongs to the cluster. One that was silent for so long that its replicas
// are to be replaced does not belong to it any more.
type Member struct {
	Name string
	Zone string // what may fail at once, a rack for example; nodes without a zone are one zone
	// Leaving nodes get no replica, and theirs move to others.
	Leaving bool
	// Full nodes have no room: they keep their replicas and get no other ones.
	Full bool
}

// A census counts what each member has in a map whose moves have finished.
type census struct {
	members []Member       // in order of names
	number  map[string]int // of a member, by name; none for nodes that are gone
	load    []int          // replicas by member
	leads   []int          // partitions whose preferred leader is the member
	want    int            // replicas a partition is to have
	level   int            // replicas of a member if all had equally many, rounded down
	full    int            // the same, rounded up
	most    int            // replicas that a member may have for the sake of zones
}

func count(m Map, members []Member) *census {
	c := &census{members: slices.Clone(members), number: make(map[string]int)}
	slices.SortFunc(c.members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	c.members = slices.CompactFunc(c.members, func(a, b Member) bool { return a.Name == b.Name })
	c.load, c.leads = make([]int, len(c.members)), make([]int, len(c.members))
	staying := 0
	for i, mem := range c.members {
		c.number[mem.Name] = i
		if !mem.Leaving {
			staying++
		}
	}
	c.want = min(m.Replicas, staying)
	if all := c.want * len(m.Partitions); staying > 0 {
		c.level, c.full = all/staying, (all+staying-1)/staying
		c.most = (3*all + 2*staying - 1) / (2 * staying)
	}
	for _, p := range m.Partitions {
		for i, name := range p.planned() {
			if n, ok := c.number[name]; ok {
				c.load[n]++
				if i == 0 {
					c.leads[n]++
				}
			}
		}
	}
	return c
}

// stays reports whether a node belongs to the cluster and does not leave it.
func (c *census) stays(name string) bool {
	n, ok := c.number[name]
	return ok && !c.members[n].Leaving
}

// takes reports whether a member may get a replica.
func (c *census) takes(n int) bool { return !c.members[n].Leaving && !c.members[n].Full }

// mates counts the nodes that are in the zone of a member, and stay. The node except is not
// counted.
func (c *census) mates(nodes []string, n int, except string) int {
	mates := 0
	for _, name := range nodes {
		if name != except && c.stays(name) && c.members[c.number[name]].Zone == c.members[n].Zone {
			mates++
		}
	}
	return mates
}

// class says how welcome one more replica is to a member: 0 if it has less than all may have, 1
// if it may have one more, and more beyond.
func (c *census) class(n int) int {
	switch {
	case c.load[n] < c.level:
		return 0
	case c.load[n] < c.full:
		return 1
	default:
		return 2 + c.load[n] - c.full
	}
}

// byLoad returns the members that stay, those with the fewest replicas first.
func (c *census) byLoad() []int {
	var order []int
	for n, m := range c.members {
		if !m.Leaving {
			order = append(order, n)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.load[a], c.load[b]) })
	return order
}
