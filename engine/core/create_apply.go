package core

import (
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/rra"
)

// find looks up the names of a plan, in one transaction, and notes in the plan what they are. What
// it finds holds as long as the catalogue's forgotten is since: what changed meanwhile is in the
// overlay.
func (cat *catalogue) find(plan []planned) (since uint64) {
	stored := make([]*planned, 0, len(plan))
	cat.mu.RLock()
	since = cat.forgotten
	for i := range plan {
		p := &plan[i]
		var ok bool
		if p.old, ok = cat.names[p.key]; !ok {
			stored = append(stored, p)
		}
		p.unknown = nil
	}
	cat.mu.RUnlock()
	if len(stored) == 0 {
		return since
	}
	var key []byte
	err := cat.db.View(bucketNames, func(tx *boltfile.Tx) error {
		names := tx.Finder(bucketNames)
		for len(stored) > 0 {
			p := stored[0]
			key = append(key[:0], p.key...)
			v, err := names.Find(key)
			if v != nil {
				p.old, err = cat.decodeName(key, v)
			}
			if err != nil {
				p.unknown = cat.whileReplaying(err)
			}
			stored = stored[1:]
		}
		return nil
	})
	for _, p := range stored { // nothing can be looked up, or nothing any more
		p.unknown = cat.whileReplaying(err)
	}
	return since
}

// refind brings up to date what find noted in a plan. It runs in log order: while the plan is
// applied, only the plan changes the catalogue.
func (cat *catalogue) refind(plan []planned, since uint64) {
	cat.mu.RLock()
	holds := since == cat.forgotten
	if holds {
		for i := range plan {
			p := &plan[i]
			if ref, ok := cat.names[p.key]; ok {
				p.old, p.unknown = ref, nil
			}
		}
	}
	cat.mu.RUnlock()
	if !holds {
		cat.find(plan)
	}
}

// again returns the series that a name of a plan means, now that the plan is applied in part: the
// plan may have the name twice.
func (cat *catalogue) again(p *planned) Ref {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	if ref, ok := cat.names[p.key]; ok {
		return ref
	}
	return p.old
}

// applyCreate puts the planned series into the catalogue and numbers them. It runs in log order.
// since is what find returned, or 0 if nothing was looked up before.
func (s *Store) applyCreate(t *Ticket, plan []planned, since uint64, out []Created) {
	cat := &s.catalogue
	cat.refind(plan, since)
	list := beginning{t: t, starts: make([]start, 0, len(plan)), refs: make([]Ref, 0, len(plan))}
	records := make([]seriesRecord, len(plan))
	for i := range plan {
		p := &plan[i]
		if p.unknown != nil {
			out[p.at].Err = p.unknown
			continue
		}
		old := cat.again(p)
		if old != 0 && !p.Overwrite {
			out[p.at] = Created{Ref: old, Err: fmt.Errorf("create %q: %w", p.Path, ErrExists)}
			continue
		}
		if old != 0 {
			list.flush() // the series ends before another one begins
		}
		d, ref, g := cat.enlist(t, p, old, i, &records[i])
		s.failpoint("catalogue-create")
		out[p.at].Ref = ref
		list.add(g, ref, start{d.class.index(ref.number()), d, p.Start, p.smoothBy()})
	}
	list.flush()
}

// A start is a new series of a group.
type start struct {
	index    int
	d        *definition
	at       rra.Time
	smoothBy uint64
}

// A beginning gathers new series: those that follow each other in one group begin together.
type beginning struct {
	t      *Ticket
	g      *group
	starts []start
	refs   []Ref
}

// add adds a series of g.
func (b *beginning) add(g *group, ref Ref, st start) {
	if b.g != g {
		b.flush()
	}
	b.g = g
	b.starts, b.refs = append(b.starts, st), append(b.refs, ref)
}

// flush adds to the ticket that the gathered series begin.
func (b *beginning) flush() {
	if len(b.starts) == 0 {
		return
	}
	starts := b.starts
	b.t.op.do = append(b.t.op.do, groupOp{b.g, func(sh *shard, g *group) { sh.start(g, starts) }, b.refs})
	b.starts, b.refs = b.starts[len(starts):], b.refs[len(starts):]
}

// start begins series of g, in the order of their numbers.
func (sh *shard) start(g *group, starts []start) {
	g.resize(starts[len(starts)-1].index + 1)
	for i := range starts {
		st := &starts[i]
		sh.words = g.start(st.index, st.d, st.at, sh.words)
		if g.c.seasonal {
			st.d.m.SmoothBy(g.state(st.index).W, st.smoothBy)
		}
	}
}
