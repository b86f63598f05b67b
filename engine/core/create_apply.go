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
		x, ok := cat.names[p.key]
		if p.old, p.unknown = x.ref, nil; !ok {
			stored = append(stored, p)
		}
	}
	cat.mu.RUnlock()
	if len(stored) == 0 {
		return since
	}
	var key []byte
	err := cat.db.View(bucketNames, func(tx *boltfile.Tx) error {
		names := tx.Bucket(bucketNames)
		for len(stored) > 0 {
			p := stored[0]
			key = append(key[:0], p.key...)
			if v := names.Get(key); v != nil {
				p.old, p.unknown = cat.decodeName(key, v)
			}
			stored = stored[1:]
		}
		return nil
	})
	for _, p := range stored { // nothing can be looked up, or nothing any more
		p.unknown = err
	}
	return since
}

// refind looks the names of a plan up again if what find noted does not hold any more. It runs in
// log order: while the plan is applied, only the plan changes the catalogue.
func (cat *catalogue) refind(plan []planned, since uint64) {
	cat.mu.RLock()
	holds := since == cat.forgotten
	cat.mu.RUnlock()
	if !holds {
		cat.find(plan)
	}
}

// now returns the series that the name of p means: what find noted, unless the overlay knows
// better. A part of the plan may be applied by now, and the plan may have the name twice. The
// caller holds mu.
func (cat *catalogue) now(p *planned) (Ref, error) {
	if x, ok := cat.names[p.key]; ok {
		return x.ref, nil
	}
	return p.old, p.unknown
}

// applyCreate puts the planned series into the catalogue and numbers them. It runs in log order.
// since is what find returned, or 0 if nothing was looked up before.
func (s *Store) applyCreate(t *Ticket, plan []planned, since uint64, out []Created) {
	s.catalogue.refind(plan, since)
	list := beginning{t: t, starts: make([]start, 0, len(plan)), refs: make([]Ref, 0, len(plan))}
	records := make([]seriesRecord, len(plan))
	for at := 0; at < len(plan); {
		if n := s.catalogue.enlistNew(&list, plan, at, records, out); n > 0 {
			for range n {
				s.failpoint("catalogue-create")
			}
			at += n
			continue
		}
		s.applyOne(&list, plan, at, &records[at], out)
		at++
	}
	list.flush()
}

// enlistedAtOnce is how many series enlistNew puts into the catalogue, while readers wait.
const enlistedAtOnce = 256

// enlistNew puts the first series of plan[at:] into the catalogue, as far as their names are new.
// It returns how many.
func (cat *catalogue) enlistNew(list *beginning, plan []planned, at int, records []seriesRecord, out []Created) (n int) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	for i := at; i < len(plan) && n < enlistedAtOnce; i++ {
		p := &plan[i]
		if ref, err := cat.now(p); ref != 0 || err != nil {
			break
		}
		d, ref, g := cat.add(list.t, p, &records[i])
		out[p.at].Ref = ref
		list.add(g, ref, start{d.class.index(ref.number()), d, p.Start, p.smoothBy()})
		n++
	}
	return n
}

// applyOne applies one series of a plan, whose name may be taken.
func (s *Store) applyOne(list *beginning, plan []planned, at int, rec *seriesRecord, out []Created) {
	cat, p := &s.catalogue, &plan[at]
	cat.mu.RLock()
	old, err := cat.now(p)
	cat.mu.RUnlock()
	switch {
	case err != nil:
		out[p.at].Err = err
		return
	case old != 0 && !p.Overwrite:
		out[p.at] = Created{Ref: old, Err: fmt.Errorf("create %q: %w", p.Path, ErrExists)}
		return
	case old != 0:
		list.flush() // the series ends before another one begins
	}
	d, ref, g := cat.enlist(list.t, p, old, rec)
	s.failpoint("catalogue-create")
	out[p.at].Ref = ref
	list.add(g, ref, start{d.class.index(ref.number()), d, p.Start, p.smoothBy()})
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
	for len(starts) > 0 {
		st := &starts[0]
		n := 1
		if g.c.tabular && !g.c.seasonal {
			n = alike(starts)
		}
		sh.words = g.start(st.index, st.d, st.at, sh.words)
		if n > 1 {
			g.startMore(st.index, n, sh.words)
		}
		if g.c.seasonal {
			st.d.m.SmoothBy(g.state(st.index).W, st.smoothBy)
		}
		starts = starts[n:]
	}
}

// alike returns how many of the first starts differ in their index only, which rises by one.
func alike(starts []start) int {
	n := 1
	for n < len(starts) && starts[n].d == starts[0].d && starts[n].at == starts[0].at && starts[n].index == starts[0].index+n {
		n++
	}
	return n
}
