package core

import (
	"cmp"
	"slices"
	"sync"
)

// An overlayIndex finds series by labels in the overlay of a catalogue: those that the database
// does not have yet, or has with other labels. A query brings it up to date with the changes since
// the query before, so that changes cost nothing where nobody asks.
//
// A list may have series that were dropped or that got other labels: whoever finds a series in a
// list compares its record.
type overlayIndex struct {
	mu      sync.Mutex // guards what follows; catalogue.mu is taken while it is held
	epoch   uint64     // catalogue.forgotten, when the index was begun
	done    int        // so many of the catalogue's ops are in it
	records map[Ref]*seriesRecord
	lists   map[string]map[string][]Ref // by name and value, in order of the changes
	changed refSet                      // do not count in the database; never changed in place
	moved   []Ref                       // have another path than in the database, or had one
	either  refSet                      // changed or moved; never changed in place
}

// update brings x up to date. The caller holds x.mu.
func (x *overlayIndex) update(cat *catalogue) {
	cat.mu.RLock()
	ops, epoch := cat.ops, cat.forgotten
	cat.mu.RUnlock()
	if x.records == nil || x.epoch != epoch {
		x.epoch, x.done, x.changed, x.moved, x.either = epoch, 0, nil, nil, nil
		x.records, x.lists = make(map[Ref]*seriesRecord), make(map[string]map[string][]Ref)
	}
	var changed []groupSet
	moves := len(x.moved)
	for i := x.done; i < len(ops); i++ {
		o := &ops[i]
		x.records[o.ref] = o.add
		if o.old != nil && (!o.rename || o.relabel) {
			c := cat.class(o.ref.class())
			g := groupSet{id: c.groupOf(o.ref.number())}
			g.p.set(c.index(o.ref.number()))
			changed = append(changed, g)
		}
		if o.rename && !o.relabel {
			x.moved = append(x.moved, o.ref)
		}
		if o.add == nil || o.rename && !o.relabel {
			continue
		}
		for l := range o.add.indexed() {
			values := x.lists[l.Name]
			if values == nil {
				values = make(map[string][]Ref)
				x.lists[l.Name] = values
			}
			values[l.Value] = append(values[l.Value], o.ref)
		}
	}
	x.done = len(ops)
	if len(changed) > 0 {
		x.changed = gathered(append(slices.Clone(x.changed), changed...))
	}
	if len(changed) > 0 || moves < len(x.moved) {
		x.either = gathered(append(slices.Clone(x.changed), cat.setOf(x.moved)...))
	}
}

// release forgets everything: the next query begins anew.
func (x *overlayIndex) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.records, x.lists, x.changed, x.moved, x.either = nil, nil, nil, nil, nil
}

// An overlaid is a series of the overlay.
type overlaid struct {
	ref Ref
	rec *seriesRecord
}

// overlaySelect returns the series of the overlay that match ms, in order, and the series that the
// overlay changes: what the database says of these does not count.
func (cat *catalogue) overlaySelect(ms []Matcher, terms []term) (found []overlaid, changed refSet) {
	x := &cat.fresh
	x.mu.Lock()
	defer x.mu.Unlock()
	x.update(cat)
	look := func(ref Ref) {
		if rec := x.records[ref]; rec != nil && matchesAll(ms, rec.path, rec.labels) {
			found = append(found, overlaid{ref, rec})
		}
	}
	if lists, ok := x.bounding(terms); ok {
		for _, refs := range lists {
			for _, ref := range refs {
				look(ref)
			}
		}
	} else {
		for ref := range x.records {
			look(ref)
		}
	}
	changed = x.changed
	if slices.ContainsFunc(terms, func(t term) bool { return t.below != nil }) {
		changed = x.either
		for _, ref := range x.moved {
			look(ref)
		}
	}
	slices.SortFunc(found, func(a, b overlaid) int { return cmp.Compare(a.ref, b.ref) })
	return slices.CompactFunc(found, func(a, b overlaid) bool { return a.ref == b.ref }), changed
}

// bounding returns lists that have every series of the overlay which fulfils the terms. They are
// the lists of one term, the one with the fewest series. ok is false if no term has lists. The
// caller holds x.mu.
func (x *overlayIndex) bounding(terms []term) (best [][]Ref, ok bool) {
	fewest := 0
	for i := range terms {
		t := &terms[i]
		if t.exclude {
			continue
		}
		values, n := x.lists[t.name], 0
		var lists [][]Ref
		switch {
		case t.all:
			lists = append(lists, values[""])
		case t.values != nil:
			for _, v := range t.values {
				lists = append(lists, values[v])
			}
		default:
			continue // comparing the series costs no more than comparing the values
		}
		for _, refs := range lists {
			n += len(refs)
		}
		if !ok || n < fewest {
			best, fewest, ok = lists, n, true
		}
	}
	return best, ok
}
