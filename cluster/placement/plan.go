package placement

import (
	"cmp"
	"slices"
)

// A planner looks for the move that makes a map better.
type planner struct {
	*census
	parts []Partition
	// free reports whether a replica of from may move in a partition now; from is empty if a
	// replica is only added.
	free func(partition int, from string) bool
}

// next returns the move to begin, if there is one. What comes first in it must be right before
// what comes later is looked at, except where moves are not free.
func (p *planner) next() (Change, bool) {
	for _, look := range []func() (Change, bool){p.replace, p.relieve, p.spread, p.even} {
		if c, ok := look(); ok {
			return c, true
		}
	}
	return Change{}, false
}

// replace finds a partition that has too few replicas on nodes that stay.
func (p *planner) replace() (Change, bool) {
	for i, part := range p.parts {
		nodes := part.planned()
		staying, from := 0, ""
		for _, name := range nodes {
			switch _, member := p.number[name]; {
			case p.stays(name):
				staying++
			case from == "" || !member: // one that is gone rather than one that leaves
				from = name
			}
		}
		if staying >= p.want || !p.free(i, from) {
			continue
		}
		best := -1
		for n, m := range p.members {
			if p.takes(n) && !part.Has(m.Name) && (best < 0 || p.better(i, nodes, n, best)) {
				best = n
			}
		}
		if best >= 0 {
			return Change{Kind: Begin, Partition: i, To: p.members[best].Name, From: from}, true
		}
	}
	return Change{}, false
}

// better reports whether member a suits a new replica of a partition better than b.
func (p *planner) better(partition int, nodes []string, a, b int) bool {
	over := func(n int) int { return max(0, p.load[n]+1-p.most) }
	return cmp.Or(
		cmp.Compare(over(a), over(b)),
		cmp.Compare(p.mates(nodes, a, ""), p.mates(nodes, b, "")),
		cmp.Compare(p.class(a), p.class(b)),
		cmp.Compare(score(partition, p.members[b].Name), score(partition, p.members[a].Name)),
	) < 0
}

// relieve finds a replica of a member that has more than it may have even for the sake of zones.
func (p *planner) relieve() (Change, bool) {
	order := p.byLoad()
	for _, from := range slices.Backward(order) {
		if p.load[from] <= p.most {
			break
		}
		for _, to := range order {
			if p.load[to] >= p.most {
				break
			}
			if c, ok := p.exchange(from, to, len(p.members)); ok {
				return c, true
			}
		}
	}
	return Change{}, false
}

// spread finds a replica that shares its zone with another of its partition, and need not.
func (p *planner) spread() (Change, bool) {
	order := p.byLoad()
	for i, part := range p.parts {
		nodes := part.planned()
		for _, from := range slices.Backward(order) { // rather from one that has many
			name := p.members[from].Name
			if part.Held || !slices.Contains(part.Nodes, name) || p.mates(nodes, from, name) == 0 || !p.free(i, name) {
				continue
			}
			best := -1
			for _, to := range order {
				if p.takes(to) && p.load[to] < p.most && !part.Has(p.members[to].Name) && p.mates(nodes, to, name) < p.mates(nodes, from, name) &&
					(best < 0 || p.better(i, without(nodes, name), to, best)) {
					best = to
				}
			}
			if best >= 0 {
				return Change{Kind: Begin, Partition: i, To: p.members[best].Name, From: name}, true
			}
		}
	}
	return Change{}, false
}

// even finds a replica of a member that has at least two more than another, and may give it one
// without bringing replicas of a partition into one zone.
func (p *planner) even() (Change, bool) {
	order := p.byLoad()
	for _, from := range slices.Backward(order) {
		for _, to := range order {
			if p.load[from] < p.load[to]+2 {
				break
			}
			if c, ok := p.exchange(from, to, 0); ok {
				return c, true
			}
		}
	}
	return Change{}, false
}

// exchange finds, among the partitions of another member, the one whose replica suits best a member
// that has none. No more than worse replicas more may share their zone afterwards.
func (p *planner) exchange(from, to, worse int) (Change, bool) {
	a, b := p.members[from].Name, p.members[to].Name
	best, least := -1, 0
	if !p.takes(to) {
		return Change{}, false
	}
	for i, part := range p.parts {
		if part.Held || part.Has(b) || !slices.Contains(part.Nodes, a) || !p.free(i, a) {
			continue
		}
		nodes := part.planned()
		more := p.mates(nodes, to, a) - p.mates(nodes, from, a)
		if more > worse {
			continue
		}
		if best < 0 || more < least || more == least && score(i, b) > score(best, b) {
			best, least = i, more
		}
	}
	return Change{Kind: Begin, Partition: best, To: b, From: a}, best >= 0
}
