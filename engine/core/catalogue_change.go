package core

import (
	"time"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// enlist puts a new series into the catalogue. If old is not 0, the new
// series replaces the series old in the same step. enlist fills rec, which the catalogue keeps. It
// runs in log order.
func (cat *catalogue) enlist(t *Ticket, p *planned, old Ref, rec *seriesRecord) (*definition, Ref, *group) {
	var was *seriesRecord
	if old != 0 {
		was = cat.recordOr(old)
		cat.stopIn(t, old)
	}
	cat.mu.Lock()
	defer cat.mu.Unlock()
	if old != 0 {
		cat.remove(t, old, p.key, was)
	}
	return cat.add(t, p, rec)
}

// add puts a new series into the catalogue, as enlist does. The caller holds mu.
func (cat *catalogue) add(t *Ticket, p *planned, rec *seriesRecord) (*definition, Ref, *group) {
	o := catOp{pos: t.pos, key: p.key}
	d := cat.intern(p, &o)
	o.ref = makeRef(d.class.id, d.class.next.Load())
	d.class.next.Add(1)
	g := cat.makeGroup(d.class, o.ref.number()>>d.class.shift)
	*rec = seriesRecord{path: p.Path, labels: p.Labels, def: d.id}
	o.add = rec
	cat.append(o)
	cat.count.Add(1)
	cat.expect(d.class, o.ref)
	return d, o.ref, g
}

// expect notes that a series of the catalogue is not yet in its group. The caller holds mu.
func (cat *catalogue) expect(c *class, ref Ref) {
	id := c.groupOf(ref.number())
	p := cat.arriving[id]
	if p == nil {
		p = new(posting)
		cat.arriving[id] = p
	}
	p.set(c.index(ref.number()))
	cat.arrives.Add(1)
}

// arrived notes that series, all of one group, are in their group.
func (cat *catalogue) arrived(refs []Ref) {
	c := cat.class(refs[0].class())
	id := c.groupOf(refs[0].number())
	cat.mu.Lock()
	defer cat.mu.Unlock()
	p := cat.arriving[id]
	for _, ref := range refs {
		p.clear(c.index(ref.number()))
	}
	if p.empty() {
		delete(cat.arriving, id)
	}
	cat.arrives.Add(-int32(len(refs)))
	close(cat.arrival)
	cat.arrival = make(chan struct{})
}

// arrivalTime bounds how long a look-up waits for a series. Only a broken store takes that long.
const arrivalTime = 5 * time.Second

// awaitArrival waits until a series of the catalogue is in its group, so that a caller who found
// the series also finds its state.
func (cat *catalogue) awaitArrival(ref Ref) {
	if cat.arrives.Load() == 0 {
		return
	}
	arrival := cat.arrivalOf(ref)
	if arrival == nil {
		return
	}
	deadline := time.NewTimer(arrivalTime)
	defer deadline.Stop()
	for ; arrival != nil; arrival = cat.arrivalOf(ref) {
		select {
		case <-arrival:
		case <-deadline.C:
			return
		}
	}
}

// arrivalOf returns nil if a series is in its group. Else it returns a channel that is closed when
// the next series arrive, maybe others.
func (cat *catalogue) arrivalOf(ref Ref) <-chan struct{} {
	c := cat.class(ref.class())
	id := c.groupOf(ref.number())
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	if p := cat.arriving[id]; p == nil || !p.has(c.index(ref.number())) {
		return nil
	}
	return cat.arrival
}

// drop takes a series out of the catalogue and its group.
func (cat *catalogue) drop(t *Ticket, ref Ref, key string) {
	rec := cat.recordOr(ref)
	cat.mu.Lock()
	cat.remove(t, ref, key, rec)
	cat.mu.Unlock()
	cat.stopIn(t, ref)
}

// remove takes a series, whose record is rec, out of the catalogue. The caller holds mu.
func (cat *catalogue) remove(t *Ticket, ref Ref, key string, rec *seriesRecord) {
	cat.append(catOp{pos: t.pos, ref: ref, key: key, old: rec})
	cat.count.Add(-1)
}

// rename gives a series, whose record is rec, another path. It runs in log order.
func (cat *catalogue) rename(t *Ticket, ref Ref, to string, rec *seriesRecord) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	add := &seriesRecord{path: to, labels: rec.labels, def: rec.def}
	cat.append(catOp{pos: t.pos, ref: ref, key: nameKey(to), add: add, old: rec})
	cat.renames.Add(1)
}

// relabel gives the series of a key, whose record is rec, other labels. It runs in log order.
func (cat *catalogue) relabel(t *Ticket, ref Ref, key string, labels []Label, rec *seriesRecord) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	add := &seriesRecord{path: rec.path, labels: labels, def: rec.def}
	cat.append(catOp{pos: t.pos, ref: ref, key: key, add: add, old: rec})
}

// set notes that a reorder window is in force. It runs in log order.
func (cat *catalogue) set(pos wal.Pos, reorder rra.Time) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	cat.settings = append(cat.settings, setting{pos, reorder})
}
