package core

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/match"
	"github.com/rondo-db/rondo/engine/internal/table"
	"github.com/rondo-db/rondo/rra"
)

// Labels returns the names of labels, the values of one, or the combinations of values of several,
// that the series of a query have. It reads the label index, or the records of the series where
// these are fewer. If the error wraps ErrDamaged, it returns those that can be read.
func (s *Store) Labels(ctx context.Context, q LabelQuery) (Labels, error) {
	if err := s.enter(); err != nil {
		return Labels{}, err
	}
	defer s.leave()
	var passed damage.Skipped
	if q.Combine {
		all, err := s.combinations(ctx, q.Names, q.Matchers, &passed)
		return Labels{Combinations: all}, cmp.Or(err, passed.Err())
	}
	texts, err := s.texts(ctx, &q, &passed)
	if q.Most > 0 && len(texts) > q.Most {
		texts = texts[:q.Most]
	}
	return Labels{Texts: texts}, cmp.Or(err, passed.Err())
}

// texts returns the names or values of a query, sorted.
func (s *Store) texts(ctx context.Context, q *LabelQuery, passed *damage.Skipped) ([]string, error) {
	terms, err := match.Terms(q.Matchers)
	if err != nil {
		return nil, asInvalid(err)
	}
	var out []string // of the index, in order; most come once
	var refs []Ref   // whose records must be read
	err = s.catalogue.view(ctx, passed, func(r *labelindex.Reader) {
		w := &labelindex.Within{All: len(terms) == 0}
		exact, budget := true, math.MaxInt
		if !w.All {
			w.Set, exact = r.Selected(terms)
			budget = labelindex.FilterEach * w.Set.Len()
		}
		if exact {
			exact = q.read(r, w, budget, func(v string) { out = append(out, v) })
		}
		if !exact {
			refs = s.catalogue.refsOf(nil, w.Set)
		}
	})
	set := make(map[string]bool) // of records
	if err == nil {
		err = s.resolve(ctx, refs, passed, func(_ int, x Series) bool {
			if !match.All(q.Matchers, nameKey(x.Path), x.Labels) {
				return true
			}
			for _, l := range x.Labels {
				switch {
				case l.Value == "":
				case q.Name == "":
					set[l.Name] = true
				case l.Name == q.Name:
					set[l.Value] = true
				}
			}
			return true
		})
	}
	out = slices.AppendSeq(out, maps.Keys(set))
	slices.Sort(out)
	return slices.Compact(out), err
}

// read adds the names or values of the series w by the index. It returns false if it has read as
// many entries as budget says, so that reading the records takes no longer.
func (q *LabelQuery) read(r *labelindex.Reader, w *labelindex.Within, budget int, add func(string)) bool {
	if q.Name == "" {
		r.Names(w, add)
		return true
	}
	found := 0
	return r.Values(q.Name, "", budget, func(string) bool { return true }, func(value string, id groupID, p *labelindex.Posting) bool {
		if !w.Any(id, *p) {
			return true
		}
		add(value)
		found++
		r.Enough = found == q.Most
		return false
	})
}

// combinations returns the combinations of values of the given labels and of a definition that the
// series matching ms have.
func (s *Store) combinations(ctx context.Context, names []string, ms []Matcher, passed *damage.Skipped) ([]Combination, error) {
	refs, err := s.selectRefs(ctx, ms, passed)
	if err != nil {
		return nil, err
	}
	cat := &s.catalogue
	m := &combining{cat: cat, names: names, seen: make(map[combined]bool)}
	set := cat.setOf(refs)
	whole := true
	err = cat.view(ctx, passed, func(r *labelindex.Reader) { whole = m.read(r, set) })
	if err == nil && !whole {
		err = s.resolve(ctx, cat.refsOf(nil, set), passed, func(_ int, x Series) bool {
			m.labelled(x.Labels, x.Definition)
			return true
		})
	}
	return m.out, err
}

// A combining collects combinations.
type combining struct {
	cat   *catalogue
	names []string
	seen  map[combined]bool
	out   []Combination
}

// A combined is a combination as a key.
type combined struct {
	values string
	d      *rra.Definition
}

func (m *combining) add(values []string, d *rra.Definition) {
	key := combined{strings.Join(values, "\x00"), d}
	if !m.seen[key] {
		m.seen[key] = true
		m.out = append(m.out, Combination{slices.Clone(values), d})
	}
}

// labelled adds the combination of a series.
func (m *combining) labelled(labels []Label, d *rra.Definition) {
	values := make([]string, len(m.names))
	for i, name := range m.names {
		values[i] = LabelValue(labels, name)
	}
	m.add(values, d)
}

// A valued is a value of a label, with the series of a group that have it.
type valued struct {
	value string
	p     labelindex.Posting
}

// read adds the combinations of the series of set. It returns false, and adds nothing, if reading
// the records of the series takes less time than reading the index.
func (m *combining) read(r *labelindex.Reader, set labelindex.Set) bool {
	budget := labelindex.FilterEach * set.Len()
	columns := make([]map[groupID][]valued, len(m.names)+1)
	for i, name := range append([]string{""}, m.names...) { // "": definitions
		column := make(map[groupID][]valued)
		at := 0
		if !r.Values(name, "", budget, func(string) bool { return true }, func(value string, id groupID, p *labelindex.Posting) bool {
			if at >= len(set) || set[at].ID.Compare(id) > 0 {
				at = 0
			}
			var ok bool
			if at, ok = set.Find(id, at); ok {
				if p.Keep(&set[at].P); !p.Empty() {
					column[id] = append(column[id], valued{value, *p})
				}
			}
			return at < len(set)
		}) {
			return false
		}
		columns[i] = column
	}
	values := make([]string, len(m.names))
	for i := range set {
		for _, d := range columns[0][set[i].ID] {
			number, _ := strconv.ParseUint(d.value, 10, 32) // 0 is no definition
			if def := m.cat.definition(uint32(number)); def != nil {
				m.each(columns[1:], set[i].ID, d.p, values, 0, def.m.Definition())
			}
		}
	}
	return true
}

// each adds the combinations of the series p of a group. values holds the values of the labels
// before n.
func (m *combining) each(columns []map[groupID][]valued, id groupID, p labelindex.Posting, values []string, n int, d *rra.Definition) {
	if n == len(columns) {
		m.add(values, d)
		return
	}
	rest := p
	for _, v := range columns[n][id] {
		both := v.p
		both.Keep(&p)
		if !both.Empty() {
			rest.Remove(&v.p)
			values[n] = v.value
			m.each(columns, id, both, values, n+1, d)
		}
	}
	if !rest.Empty() {
		values[n] = ""
		m.each(columns, id, rest, values, n+1, d)
	}
}

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
