package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// zeroByte stands between the strings of a key.
var zeroByte = []byte{0}

// The label index holds, for a label and a group, which series of the group
// carry it: key = name, 0, value, 0, class, group; value = the indices, a byte
// pair each, or a bitmap where that is shorter. Series of one host have
// neighbouring numbers, so that a host is one or two keys.

// A posting is the series of one group that carry a label, as a bitmap.
type posting [1 << groupShift / 64]uint64

func (p *posting) set(i int)      { p[i/64] |= 1 << (i % 64) }
func (p *posting) clear(i int)    { p[i/64] &^= 1 << (i % 64) }
func (p *posting) has(i int) bool { return p[i/64]>>(i%64)&1 != 0 }

func (p *posting) count() (n int) {
	for i := range 1 << groupShift {
		if p.has(i) {
			n++
		}
	}
	return n
}

// append codes p: a byte an index where there are fewer than 32, else 32 bytes of bitmap.
func (p *posting) append(dst []byte) []byte {
	if p.count() < 32 {
		for i := range 1 << groupShift {
			if p.has(i) {
				dst = append(dst, byte(i))
			}
		}
		return dst
	}
	for _, w := range p {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

func decodePosting(b []byte) (p posting, err error) {
	switch {
	case len(b) == 32:
		for i := range p {
			p[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return p, nil
	case len(b) > 32:
		return p, record.ErrParse
	}
	for _, i := range b {
		p.set(int(i))
	}
	return p, nil
}

// storedPosting checks and decodes an entry of the label index. The key is name, 0, value, 0, class, group.
func (s *Store) storedPosting(k, v []byte) (id groupID, p posting, err error) {
	b, err := record.CutSum(v, bucketLabels, k)
	at := len(k) - 8
	switch {
	case err != nil:
	case at < 2 || k[at-1] != 0 || bytes.Count(k[:at], zeroByte) != 2:
		err = record.ErrParse
	default:
		id = groupID{binary.BigEndian.Uint32(k[at:]), binary.BigEndian.Uint32(k[at+4:])}
		if _, e := s.groupAt(id.class, id.group); e != nil {
			err = record.ErrParse
			break
		}
		p, err = decodePosting(b)
	}
	if err != nil {
		e := damagedValue(bucketLabels, k, err)
		s.damage.note(e)
		return id, p, e
	}
	return id, p, nil
}

func labelKey(l Label) []byte {
	k := make([]byte, 0, len(l.Name)+len(l.Value)+10)
	k = append(append(k, l.Name...), 0)
	return append(append(k, l.Value...), 0)
}

// groupKey is class and group, as they end keys.
func groupKey(dst []byte, class, group uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, class), group)
}

type groupID struct{ class, group uint32 }

// matches says whether a series with these labels satisfies m.
func (m *Matcher) matches(labels []Label) bool {
	value := ""
	for _, l := range labels {
		if l.Name == m.Name {
			value = l.Value
		}
	}
	switch m.Op {
	case MatchEqual:
		return value == m.Value
	case MatchNotEqual:
		return value != m.Value
	case MatchRegexp:
		return m.Regexp.MatchString(value)
	}
	return !m.Regexp.MatchString(value)
}

// Select yields the series that match all of ms, in order of their references. A matcher that asks
// for one non-empty value is answered by the label index; without one every series is looked at. Damaged entries are
// passed over; where there are some, the last thing yielded is an error that wraps ErrDamaged.
func (s *Store) Select(ctx context.Context, ms []Matcher) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		for i := range ms {
			if err := ms[i].check(); err != nil {
				yield(Series{}, err)
				return
			}
		}
		if err := s.enter(); err != nil {
			yield(Series{}, err)
			return
		}
		defer s.leave()
		var passed passedOver
		refs, err := s.candidates(ms, &passed)
		if err != nil {
			yield(Series{}, err)
			return
		}
		for _, ref := range refs {
			rec, err := s.listed(ref)
			if errors.Is(err, ErrNotFound) {
				continue // dropped meanwhile
			}
			if passed.over(err) {
				continue
			}
			if err != nil {
				yield(Series{}, err)
				return
			}
			if !slices.ContainsFunc(ms, func(m Matcher) bool { return !m.matches(rec.labels) }) {
				if !yield(s.seriesOf(ref, rec), ctx.Err()) || ctx.Err() != nil {
					return
				}
			}
		}
		if err := passed.err(); err != nil {
			yield(Series{}, err)
		}
	}
}

// candidates returns references, sorted, among which are all that match ms.
func (s *Store) candidates(ms []Matcher, passed *passedOver) ([]Ref, error) {
	cat := &s.catalogue
	cat.mu.RLock()
	overlay := make(map[Ref]*seriesRecord, len(cat.records))
	maps.Copy(overlay, cat.records)
	cat.mu.RUnlock()
	found, err := s.storedCandidates(ms, passed)
	if err != nil {
		return nil, err
	}
	refs := make([]Ref, 0, len(found))
	for _, ref := range found {
		if _, ok := overlay[ref]; !ok {
			refs = append(refs, ref)
		}
	}
	for ref, rec := range overlay {
		if rec != nil {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs, nil
}

func (s *Store) storedCandidates(ms []Matcher, passed *passedOver) (refs []Ref, err error) {
	err = s.db.View(bucketLabels, func(tx *bolt.Tx) error {
		var set map[groupID]posting
		for i := range ms {
			m := &ms[i]
			if m.Op != MatchEqual || m.Value == "" {
				continue
			}
			ps := s.postings(tx, Label{m.Name, m.Value}, passed)
			if set != nil {
				ps = intersect(set, ps)
			}
			if set = ps; len(set) == 0 {
				return nil
			}
		}
		if set != nil {
			refs = s.refsOf(set)
			return nil
		}
		c := tx.Bucket(bucketSeries).Cursor()
		n := uint64(0)
		for k, v := c.First(); k != nil; k, v = c.Next() {
			n++
			// A damaged key may be that of another series. Its value does not belong to it.
			if _, err := openValue(bucketSeries, k, v); passed.over(err) {
				continue
			}
			if len(k) != 8 || !s.numbered(Ref(binary.BigEndian.Uint64(k))) {
				passed.over(damagedValue(bucketSeries, k, record.ErrParse))
				continue
			}
			refs = append(refs, Ref(binary.BigEndian.Uint64(k)))
		}
		count, err := metaNumber(tx, metaCount)
		if err == nil && count != n {
			err = &DamageError{Bucket: string(bucketSeries), Err: fmt.Errorf("%d series, not the %d that were written", n, count)}
		}
		passed.over(err)
		return nil
	})
	return refs, err
}

// postings reads all groups of one label.
func (s *Store) postings(tx *bolt.Tx, l Label, passed *passedOver) map[groupID]posting {
	out := make(map[groupID]posting)
	key := labelKey(l)
	passed.over(s.db.prefixSound(tx, bucketLabels, key))
	c := tx.Bucket(bucketLabels).Cursor()
	for k, v := c.Seek(key); bytes.HasPrefix(k, key); k, v = c.Next() {
		id, p, err := s.storedPosting(k, v)
		if err == nil {
			out[id] = p
		}
		passed.over(err)
	}
	return out
}

func intersect(a, b map[groupID]posting) map[groupID]posting {
	out := make(map[groupID]posting)
	for id, p := range a {
		q, ok := b[id]
		if !ok {
			continue
		}
		var both posting
		any := uint64(0)
		for i := range p {
			both[i] = p[i] & q[i]
			any |= both[i]
		}
		if any != 0 {
			out[id] = both
		}
	}
	return out
}

func (s *Store) refsOf(set map[groupID]posting) []Ref {
	var refs []Ref
	for id, p := range set {
		c := s.catalogue.class(id.class)
		for i := range 1 << c.shift {
			if p.has(i) {
				refs = append(refs, makeRef(id.class, id.group<<c.shift+uint32(i)))
			}
		}
	}
	return refs
}

// LabelNames returns the label names in use, sorted. With an error that wraps ErrDamaged they are those that can be read.
func (s *Store) LabelNames(ctx context.Context) ([]string, error) {
	return s.labelStrings(ctx, nil, func(l Label) (string, bool) { return l.Name, true })
}

// LabelValues returns the values of the label name in use, sorted. With an error that wraps ErrDamaged they are those
// that can be read.
func (s *Store) LabelValues(ctx context.Context, name string) ([]string, error) {
	return s.labelStrings(ctx, append([]byte(name), 0), func(l Label) (string, bool) { return l.Value, l.Name == name })
}

// labelStrings walks the label index under prefix, from one distinct string to the next.
func (s *Store) labelStrings(ctx context.Context, prefix []byte, pick func(Label) (string, bool)) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	set, removed, doubtful := s.overlayLabels(pick)
	var passed passedOver
	err := s.db.View(bucketLabels, func(tx *bolt.Tx) error {
		passed.over(s.db.prefixSound(tx, bucketLabels, prefix))
		c := tx.Bucket(bucketLabels).Cursor()
		var past []byte // where the walk has come to
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, _, err := s.storedPosting(k, v); passed.over(err) {
				k, v = c.Next()
				continue
			}
			end := len(prefix) + bytes.IndexByte(k[len(prefix):], 0)
			name := string(k[len(prefix):end])
			if !set[name] && (!doubtful[name] || s.carried(tx, k[:end+1], removed, &passed)) {
				set[name] = true
			}
			// A damaged key that is out of order may have led back to a string that was seen already.
			next := append(slices.Clone(k[:end]), 1) // past everything that goes on with 0
			if bytes.Compare(next, past) <= 0 {
				k, v = c.Next()
				continue
			}
			past = next
			k, v = c.Seek(past)
		}
		return nil
	})
	if err == nil {
		err = passed.err()
	}
	return slices.Sorted(maps.Keys(set)), err
}

// overlayLabels returns what pick takes of the labels of series that the database does not hold yet;
// the series that have been dropped since; and what it takes of their labels.
func (s *Store) overlayLabels(pick func(Label) (string, bool)) (set map[string]bool, removed map[groupID]posting, doubtful map[string]bool) {
	set, removed, doubtful = make(map[string]bool), make(map[groupID]posting), make(map[string]bool)
	take := func(rec *seriesRecord, into map[string]bool) {
		for _, l := range rec.labels {
			if v, ok := pick(l); ok {
				into[v] = true
			}
		}
	}
	cat := &s.catalogue
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	for _, rec := range cat.records {
		if rec != nil {
			take(rec, set)
		}
	}
	for i := range cat.ops {
		if o := &cat.ops[i]; o.old != nil && (!o.rename || o.relabel) {
			c := s.catalogue.class(o.ref.class())
			id := groupID{c.id, o.ref.number() >> c.shift}
			p := removed[id]
			p.set(c.index(o.ref.number()))
			removed[id] = p
			take(o.old, doubtful)
		}
	}
	return set, removed, doubtful
}

// carried says whether a series that has not been removed carries a label under prefix.
func (s *Store) carried(tx *bolt.Tx, prefix []byte, removed map[groupID]posting, passed *passedOver) bool {
	c := tx.Bucket(bucketLabels).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix) && len(k) >= 8; k, v = c.Next() {
		id, p, err := s.storedPosting(k, v)
		if passed.over(err) {
			continue
		}
		gone := removed[id]
		for i := range p {
			if p[i]&^gone[i] != 0 {
				return true
			}
		}
	}
	return false
}
