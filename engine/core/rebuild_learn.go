package core

import (
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/wal"
)

// A crash may come between the groups and the catalogue of a checkpoint. Then a state record names
// the definition of a series that the catalogue does not have: replay of the log makes the series.
// If that definition is lost, only the replay can tell that the log has it. The repair learns it,
// and begins anew with it: replay has given the definition another number, and the numbers of later
// ones have moved.

// learn compares a series that replay of the record at pos is about to make with the state record
// that has the series already. It runs in log order, before the catalogue changes.
func (b *rebuild) learn(p *planned, pos wal.Pos) {
	if len(b.r.undefined) == 0 {
		return
	}
	cat := &b.s.catalogue
	cat.mu.RLock()
	c := cat.byShape[p.m.Shape()]
	cat.mu.RUnlock()
	if c == nil {
		return
	}
	number := c.next.Load()
	g := b.peek(c.groupOf(number))
	if i := c.index(number); g != nil && g.pos >= pos && i < g.n {
		d := cat.definition(g.defs[i])
		if d == nil || !d.lost() {
			return
		}
		code := p.def
		if other, known := b.r.learned[d.id]; known && other != code {
			code = "" // of two codes neither is proved
		}
		b.r.learned[d.id] = code
	}
}

// peek returns a stored group, or nil. It keeps the group for the next call: the log makes the
// series of a group one after the other.
func (b *rebuild) peek(id groupID) *group {
	if b.peekedAt != id {
		b.unpeek()
		b.peekedAt = id
		if err := b.s.db.View(bucketState, func(tx *boltfile.Tx) error { b.peeked = b.stored(tx, id); return nil }); err != nil {
			b.peeked = nil // without its state nothing is learned
		}
	}
	return b.peeked
}

// unpeek releases the memory of the group that peek keeps.
func (b *rebuild) unpeek() {
	if b.peeked != nil {
		b.peeked.unload()
	}
	b.peeked, b.peekedAt = nil, groupID{}
}

// hasLearned reports whether the log has told a definition that is missing in the new file.
func (r *repairing) hasLearned() bool {
	for id, code := range r.learned {
		if _, missing := r.undefined[id]; missing && code != "" {
			return true
		}
	}
	return false
}
