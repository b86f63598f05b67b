package core

import (
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// makeGroup returns a group of c. It makes the group, and the groups before it, if they are new.
func (cat *catalogue) makeGroup(c *class, id uint32) *group {
	gs := *c.groups.Load()
	if int(id) < len(gs) {
		return gs[id]
	}
	for len(gs) <= int(id) {
		n := uint32(len(gs))
		gs = append(gs, &group{c: c, id: n, shard: int(c.id*31+n) % cat.shards})
	}
	c.groups.Store(&gs)
	return gs[id]
}

// groupAt returns the group that a log record names.
func (cat *catalogue) groupAt(class, id uint32) (*group, error) {
	if c := cat.class(class); c != nil {
		if gs := *c.groups.Load(); int(id) < len(gs) {
			return gs[id], nil
		}
	}
	return nil, fmt.Errorf("no group %d of class %d: %w", id, class, record.ErrParse)
}

// stopIn adds to t that a series ends in its group.
func (cat *catalogue) stopIn(t *Ticket, ref Ref) {
	c := cat.class(ref.class())
	index := c.index(ref.number())
	t.op.do = append(t.op.do, groupOp{c.group(ref.number()), func(_ *shard, g *group) { g.stop(index) }, nil})
}

// stop ends the series at an index. Its rows disappear when their slots are merged or expire.
func (g *group) stop(index int) {
	if index >= g.n {
		return
	}
	g.flags[index] &^= flagAlive
	delete(g.refused, index)
	g.dropLongRuns(index)
	g.setText(index, nil)
	g.dropHeld(index)
	g.dirty = true
}
