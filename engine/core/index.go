package core

import (
	"context"
	"math/bits"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/table"
)

// The names and the label index are tables: buckets of the database with what the newest changes of
// the catalogue do to them.

// view runs fn with a reader of the label index.
func (cat *catalogue) view(ctx context.Context, passed *damage.Skipped, fn func(r *labelindex.Reader)) error {
	names := cat.nameTable.View(cat.pending)
	r := &labelindex.Reader{Context: ctx, Changes: cat.labelTable.View(cat.pending), Skipped: passed, Entry: cat.storedPosting}
	r.Below = func(folders []string, most int) (labelindex.Set, bool) { return cat.below(r, names, folders, most) }
	return cat.db.View(bucketLabels, func(tx *boltfile.Tx) error {
		r.Tx = tx
		r.Series = func() (uint64, error) { return metaNumber(tx, metaCount) }
		fn(r)
		return r.Err
	})
}

// pending is the catalogue's [table.Log].
func (cat *catalogue) pending() (ops []catOp, epoch uint64) {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	return cat.ops, cat.forgotten
}

// below returns the series of the database whose path is one of the folders, or below one. It reads
// at most most names; whole is false if there are more.
func (cat *catalogue) below(r *labelindex.Reader, names table.View[Ref], folders []string, most int) (set labelindex.Set, whole bool) {
	var refs []Ref
	c := names.Cursor(r.Tx, bucketNames, r.Skipped)
	take := func() {
		if ref := cat.nameAt(&c, r.Skipped); ref != 0 {
			refs = append(refs, ref)
		}
	}
	for _, f := range folders {
		if c.Seek([]byte(f)); string(c.Key) == f {
			take()
		}
		prefix := f + "/"
		for c.Seek([]byte(prefix)); c.Has(prefix) && r.More(); c.Next() {
			if most--; most < 0 {
				return nil, false
			}
			take()
		}
		c.End()
	}
	slices.Sort(refs)
	return cat.setOf(slices.Compact(refs)), true
}

// setOf returns the set of the given series.
func (cat *catalogue) setOf(refs []Ref) labelindex.Set {
	var out []labelindex.GroupSet
	for _, ref := range refs {
		c := cat.class(ref.class())
		id := c.groupOf(ref.number())
		if n := len(out); n == 0 || out[n-1].ID != id {
			out = append(out, labelindex.GroupSet{ID: id})
		}
		out[len(out)-1].P.Set(c.index(ref.number()))
	}
	return labelindex.Gathered(out)
}

// refsOf appends the series of a set, in order.
func (cat *catalogue) refsOf(dst []Ref, set labelindex.Set) []Ref {
	dst = slices.Grow(dst, set.Len())
	for i := range set {
		c := cat.class(set[i].ID.Class)
		for w, word := range set[i].P {
			for ; word != 0; word &= word - 1 {
				dst = append(dst, c.refAt(set[i].ID.Number, 64*w+bits.TrailingZeros64(word)))
			}
		}
	}
	return dst
}

// postingIn looks a key up in the label index. A key without an entry has an empty posting.
func (cat *catalogue) postingIn(c *boltfile.Cursor, key []byte) (labelindex.Posting, error) {
	x, err := boltfile.Find(cat.damage, c, bucketLabels, key, cat.parsePosting(key))
	return x.P, err
}

// storedPosting checks and decodes an entry of the label index.
func (cat *catalogue) storedPosting(k, v []byte) (labelindex.GroupSet, error) {
	return boltfile.Decode(cat.damage, bucketLabels, k, v, cat.parsePosting(k))
}

// parsePosting returns what decodes the entry of a key. Its group must exist.
func (cat *catalogue) parsePosting(k []byte) func(b []byte) (labelindex.GroupSet, error) {
	return func(b []byte) (labelindex.GroupSet, error) {
		x, err := labelindex.Parse(k, b)
		if err == nil {
			_, err = cat.groupAt(x.ID.Class, x.ID.Number)
		}
		return x, err
	}
}

// nameChanges returns what changes do to the bucket names; 0: the name is no series any more.
func nameChanges(ops []catOp) []table.Change[Ref] {
	out := make([]table.Change[Ref], 0, len(ops))
	for i := range ops {
		o := &ops[i]
		if key, ok := o.freed(); ok {
			out = append(out, table.Change[Ref]{Key: key})
		}
		out = append(out, table.Change[Ref]{Key: o.key, Value: o.holder()})
	}
	return out
}

// labelChanges returns what changes do to the bucket labels.
func (cat *catalogue) labelChanges(ops []catOp) []table.Change[labelindex.Change] {
	var out []table.Change[labelindex.Change]
	for id, labels := range cat.postingChanges(ops) {
		for l, x := range labels {
			out = append(out, table.Change[labelindex.Change]{Key: string(id.AppendKey(labelindex.Key(l))), Value: *x})
		}
	}
	return out
}

// postingChanges returns what changes do to the label index, by group and label.
func (cat *catalogue) postingChanges(ops []catOp) map[groupID]map[Label]*labelindex.Change {
	groups := make(map[groupID]map[Label]*labelindex.Change)
	var at groupID
	var labels map[Label]*labelindex.Change // groups[at]
	var free []labelindex.Change
	of := func(l Label) *labelindex.Change {
		x := labels[l]
		if x == nil {
			if len(free) == 0 {
				free = make([]labelindex.Change, 64)
			}
			x, free = &free[0], free[1:]
			labels[l] = x
		}
		return x
	}
	for i := range ops {
		o := &ops[i]
		if !o.relabels() {
			continue
		}
		c := cat.class(o.ref.class())
		n := c.index(o.ref.number())
		if id := c.groupOf(o.ref.number()); labels == nil || id != at {
			if at, labels = id, groups[id]; labels == nil {
				labels = make(map[Label]*labelindex.Change)
				groups[id] = labels
			}
		}
		if o.old != nil {
			for l := range o.old.indexed() {
				of(l).Remove(n)
			}
		}
		if o.add != nil {
			for l := range o.add.indexed() {
				of(l).Add(n)
			}
		}
	}
	return groups
}
