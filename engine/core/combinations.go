package core

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/rra"
)

// A Combination is values of several labels and a definition that at least one series has.
type Combination struct {
	Values     []string // in order of the names asked for; empty where the series lack the label
	Definition *rra.Definition
}

// Combinations returns the combinations of values of the given labels and of a definition that the
// series matching ms have, each once and in no order. It reads the label index, not the series. If
// the error wraps ErrDamaged, the combinations are those that can be read.
func (s *Store) Combinations(ctx context.Context, names []string, ms []Matcher) ([]Combination, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	terms, err := termsOf(ms)
	if err != nil {
		return nil, err
	}
	var passed passedOver
	refs, exact, err := s.matching(ctx, ms, &passed)
	if err == nil && !exact {
		refs, err = s.compared(ctx, refs, ms, 0, &passed)
	}
	if err != nil {
		return nil, err
	}
	cat := &s.catalogue
	m := &combining{cat: cat, names: names, seen: make(map[string]bool)}
	found, changed := cat.overlaySelect(ms, terms)
	overlaid := make([]Ref, len(found))
	for i, x := range found {
		m.record(x.rec)
		overlaid[i] = x.ref
	}
	set := cat.setOf(refs).without(changed).without(cat.setOf(overlaid))
	err = cat.view(ctx, &passed, func(r *indexReader) { m.read(r, set) })
	if err == nil {
		err = passed.err()
	}
	return m.out, err
}

// A combining collects combinations.
type combining struct {
	cat   *catalogue
	names []string
	seen  map[string]bool // by values and definition
	out   []Combination
}

// add adds a combination.
func (m *combining) add(values []string, def uint32) {
	d := m.cat.definition(def)
	if d == nil || d.lost() {
		return
	}
	key := strings.Join(values, "\x00") + "\x00" + strconv.FormatUint(uint64(def), 10)
	if !m.seen[key] {
		m.seen[key] = true
		m.out = append(m.out, Combination{slices.Clone(values), d.m.Definition()})
	}
}

// record adds the combination of a series.
func (m *combining) record(rec *seriesRecord) {
	values := make([]string, len(m.names))
	for i, name := range m.names {
		for _, l := range rec.labels {
			if l.Name == name {
				values[i] = l.Value
			}
		}
	}
	m.add(values, rec.def)
}

// A valued is a value of a label, with the series of a group that have it.
type valued struct {
	value string
	p     posting
}

// read adds the combinations of the series of set.
func (m *combining) read(r *indexReader, set refSet) {
	columns := make([]map[groupID][]valued, len(m.names)+1)
	for i, name := range append([]string{""}, m.names...) { // "": definitions
		column := make(map[groupID][]valued)
		at := 0
		r.values(name, "", math.MaxInt, func(string) bool { return true }, func(id groupID, p *posting) bool {
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
		})
		columns[i] = column
	}
	values := make([]string, len(m.names))
	for i := range set {
		for _, d := range columns[0][set[i].id] {
			def, _ := strconv.ParseUint(d.value, 10, 32) // 0 is no definition
			m.each(columns[1:], set[i].id, d.p, values, 0, uint32(def))
		}
	}
}

// each adds the combinations of the series p of a group: values holds those of the labels before n.
func (m *combining) each(columns []map[groupID][]valued, id groupID, p posting, values []string, n int, def uint32) {
	if n == len(columns) {
		m.add(values, def)
		return
	}
	rest := p
	for _, v := range columns[n][id] {
		both := v.p
		both.keep(&p)
		if !both.empty() {
			rest.remove(&v.p)
			values[n] = v.value
			m.each(columns, id, both, values, n+1, def)
		}
	}
	if !rest.empty() {
		values[n] = ""
		m.each(columns, id, rest, values, n+1, def)
	}
}
