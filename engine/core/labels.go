package core

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/rra"
)

// Labels returns the names of labels, the values of one, or the combinations of values of several,
// that the series of a query have. It reads the label index, or the records of the series where
// these are fewer. If the error wraps ErrDamaged, it returns those that can be read.
func (s *Store) Labels(ctx context.Context, q LabelQuery) (Labels, error) {
	if q.Combine {
		all, err := s.combinations(ctx, q.Names, q.Matchers)
		return Labels{Combinations: all}, err
	}
	fromRecord := func(rec []Label, add func(string)) {
		for _, l := range rec {
			if l.Value == "" {
				continue
			}
			if q.Name == "" {
				add(l.Name)
			} else if l.Name == q.Name {
				add(l.Value)
			}
		}
	}
	out, err := s.strings(ctx, q.Matchers, fromRecord, func(r *indexReader, within *within, budget int, add func(string)) bool {
		if q.Name == "" {
			r.names(within, add)
			return true
		}
		found := 0
		return r.values(q.Name, "", budget, func(string) bool { return true }, func(id groupID, p *posting) bool {
			if !within.any(id, *p) {
				return true
			}
			add(r.value)
			found++
			r.enough = found == q.Most
			return false
		})
	})
	if q.Most > 0 && len(out) > q.Most {
		out = out[:q.Most]
	}
	return Labels{Texts: out}, err
}

// A within is the series that a walk over the index looks at: set's, or all.
type within struct {
	all bool
	set refSet
}

// any reports whether w has one of the series p of a group.
func (w *within) any(id groupID, p posting) bool {
	if w.all {
		return !p.empty()
	}
	at, ok := w.set.find(id, 0)
	if ok {
		p.keep(&w.set[at].p)
	}
	return ok && !p.empty()
}

// strings returns the strings of the series that match ms, sorted. fromRecord adds the strings of a
// record. fromIndex adds the strings by the index. It returns false if it has read
// as many entries as budget says, so that reading the records takes no longer.
func (s *Store) strings(ctx context.Context, ms []Matcher, fromRecord func(rec []Label, add func(string)),
	fromIndex func(r *indexReader, w *within, budget int, add func(string)) bool,
) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	terms, err := termsOf(ms)
	if err != nil {
		return nil, err
	}
	var passed passedOver
	set := make(map[string]bool) // strings of records
	add := func(v string) { set[v] = true }
	var out []string // strings of the index, in order; most come once
	var refs []Ref   // whose records must be read
	err = s.catalogue.view(ctx, &passed, func(r *indexReader) {
		w := &within{all: len(terms) == 0}
		exact, budget := true, math.MaxInt
		if !w.all {
			w.set, exact = r.selected(terms)
			budget = filterEach * w.set.len()
		}
		if !exact || !fromIndex(r, w, budget, func(v string) { out = append(out, v) }) {
			refs = s.catalogue.refsOf(nil, w.set)
		}
	})
	if err == nil {
		err = s.resolve(ctx, refs, &passed, func(_ int, x Series) bool {
			if matchesAll(ms, x.Path, x.Labels) {
				fromRecord(x.Labels, add)
			}
			return true
		})
	}
	if err == nil {
		err = passed.err()
	}
	out = slices.AppendSeq(out, maps.Keys(set))
	if !slices.IsSorted(out) {
		slices.Sort(out)
	}
	return slices.Compact(out), err
}

// names adds the names of labels that series of w carry.
func (r *indexReader) names(w *within, add func(string)) {
	c := r.labels.cursor(r.tx, bucketLabels, r.passed)
	var past []byte // the walk has passed the keys before this one
	for c.seek([]byte{1}); c.key != nil && r.more(); {
		id, p, ok := r.posting(&c)
		if !ok {
			c.next()
			continue
		}
		name := c.key[:bytes.IndexByte(c.key, 0)]
		if len(c.key) == len(name)+2+8 { // an entry of all series that carry the name
			if !w.any(id, p) {
				c.next()
				continue
			}
			add(string(name))
		}
		// A damaged key that is out of order may lead back to a name that came before.
		next := append(bytes.Clone(name), 1)
		if bytes.Compare(next, past) <= 0 {
			c.next()
			continue
		}
		past = next
		c.seek(past)
	}
}

// combinations returns the combinations of values of the given labels and of a definition that the
// series matching ms have.
func (s *Store) combinations(ctx context.Context, names []string, ms []Matcher) ([]Combination, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var passed passedOver
	refs, err := s.selectRefs(ctx, ms, &passed)
	if err != nil {
		return nil, err
	}
	cat := &s.catalogue
	m := &combining{cat: cat, names: names, seen: make(map[combined]bool)}
	set := cat.setOf(refs)
	whole := true
	err = cat.view(ctx, &passed, func(r *indexReader) { whole = m.read(r, set) })
	if err == nil && !whole {
		err = s.resolve(ctx, cat.refsOf(nil, set), &passed, func(_ int, x Series) bool {
			m.labelled(x.Labels, x.Definition)
			return true
		})
	}
	if err == nil {
		err = passed.err()
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
		for _, l := range labels {
			if l.Name == name {
				values[i] = l.Value
			}
		}
	}
	m.add(values, d)
}

// A valued is a value of a label, with the series of a group that have it.
type valued struct {
	value string
	p     posting
}

// read adds the combinations of the series of set. It returns false, and adds nothing, if reading
// the records of the series takes less time than reading the index.
func (m *combining) read(r *indexReader, set refSet) bool {
	budget := filterEach * set.len()
	columns := make([]map[groupID][]valued, len(m.names)+1)
	for i, name := range append([]string{""}, m.names...) { // "": definitions
		column := make(map[groupID][]valued)
		at := 0
		if !r.values(name, "", budget, func(string) bool { return true }, func(id groupID, p *posting) bool {
			if at >= len(set) || set[at].id.compare(id) > 0 {
				at = 0
			}
			var ok bool
			if at, ok = set.find(id, at); ok {
				if p.keep(&set[at].p); !p.empty() {
					column[id] = append(column[id], valued{r.value, *p})
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
		for _, d := range columns[0][set[i].id] {
			number, _ := strconv.ParseUint(d.value, 10, 32) // 0 is no definition
			if def := m.cat.definition(uint32(number)); def != nil {
				m.each(columns[1:], set[i].id, d.p, values, 0, def.m.Definition())
			}
		}
	}
	return true
}

// each adds the combinations of the series p of a group. values holds the values of the labels
// before n.
func (m *combining) each(columns []map[groupID][]valued, id groupID, p posting, values []string, n int, d *rra.Definition) {
	if n == len(columns) {
		m.add(values, d)
		return
	}
	rest := p
	for _, v := range columns[n][id] {
		both := v.p
		both.keep(&p)
		if !both.empty() {
			rest.remove(&v.p)
			values[n] = v.value
			m.each(columns, id, both, values, n+1, d)
		}
	}
	if !rest.empty() {
		values[n] = ""
		m.each(columns, id, rest, values, n+1, d)
	}
}
