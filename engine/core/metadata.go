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
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/table"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// Metadata is information about a path beside its numbers: a text that arrived instead of a number,
// and attributes such as units and a description. A path without a series may have metadata.
type Metadata struct {
	Time       rra.Time // when it arrived
	Text       string   // the newest text; may be empty
	Attributes []Label  // units, description, …, in order of their names
	// seconds without a sample or a text after which the path has expired; 0: never
	Expire  int64
	Expired bool // the path has expired: it has no text and no attributes
}

// PathMetadata is the metadata of one path.
type PathMetadata struct {
	Path string
	Metadata
	Expires bool // for SetMetadata, which then uses only Path and Time: the path has expired
}

// A MetadataQuery selects metadata.
type MetadataQuery struct {
	Path   string // if not empty: of this path only, which is looked up
	Prefix string // of paths that begin with it
	After  string // of paths that sort after it
}

const (
	maxMetadata     = 16 << 10 // bytes of a path's text and attributes
	metadataBytes   = 32 << 20 // of changes that wait in memory before a checkpoint is asked for
	metadataPerTx   = 16 << 10 // changes of one transaction
	metadataRecord  = 4 << 20  // bytes of a log record, about
	metadataExpired = 1        // flags: part of the format
	metadataIfTime  = 2        // of records: only where what is kept has the same time
)

// metadata is an overlay in memory of the metadata in the database, like the catalogue's. A new
// value replaces the whole value before it. So replaying old records onto a newer database ends
// with the same metadata.
type metadata struct {
	count  atomic.Int64 // paths
	newest atomic.Int64 // newest time of metadata that was set since the store was opened

	mu      sync.RWMutex         // guards what follows
	changed map[string]*Metadata // by look-up key, since the last checkpoint; nil: removed
	bytes   int                  // of keys and values in changed, about
	stored  int64                // paths the database holds

	forgotten uint64 // 1, and once more for each time that changes left changed
}

func (m *Metadata) size() int {
	n := len(m.Text)
	for _, a := range m.Attributes {
		n += len(a.Name) + len(a.Value) + 32
	}
	return n
}

func (m *Metadata) none() bool {
	return m.Time == 0 && m.Text == "" && len(m.Attributes) == 0 && m.Expire == 0 && !m.Expired
}

func attributesOf(m *Metadata) []Label {
	if m == nil {
		return nil
	}
	return m.Attributes
}

// Check returns why m cannot be stored, or nil.
func (m *Metadata) Check() error {
	switch {
	case m.size() > maxMetadata:
		return invalid("text and attributes take %d bytes, more than %d", m.size(), maxMetadata)
	case m.Time > MaxTime || m.Time < -MaxTime || m.Expire < 0 || m.Expire > int64(MaxTime/rra.Seconds(1)):
		return invalid("time %d or expiry %d is out of range", m.Time, m.Expire)
	}
	if !slices.IsSortedFunc(m.Attributes, func(a, b Label) int { return strings.Compare(a.Name, b.Name) }) {
		return invalid("attributes are not in order of their names")
	}
	if !utf8.ValidString(m.Text) {
		return invalid("the text %.40q is no UTF-8", m.Text)
	}
	return checkAttributes(m.Attributes)
}

// SetMetadata replaces the metadata of paths, and returns once that is durable. The zero Metadata
// removes. out[i] is nil or says why ms[i] was not stored. It wraps ErrSeriesLimit if as many paths
// have metadata as there may be series.
//
// Metadata that expires loses text, attributes and expiry, and is marked as expired. If the path is
// no series, the metadata is removed. Metadata whose time differs from the time of ms[i] was set
// again since, and stays.
func (s *Store) SetMetadata(ctx context.Context, ms []PathMetadata) (out []error, err error) {
	if err := s.enterLead(); err != nil {
		return nil, err
	}
	defer s.leave()
	out = make([]error, len(ms))
	plan := s.planMetadata(ms, out)
	since := s.findMetadata(plan)
	rec, records := []byte(nil), 0
	part := plan[:0]
	flush := func() error {
		if len(part) == 0 {
			return nil
		}
		records++
		part := part
		rec := append(binary.AppendUvarint([]byte{record.KindMetadata}, uint64(len(part))), rec...)
		keys := make([]string, len(part))
		for i := range part {
			keys[i] = part[i].key
		}
		return s.change(ctx, rec, func(*Ticket) error { return s.applyMetadata(part, since) }, keys...)
	}
	for _, k := range plan {
		if err := s.metadataRoom(&k, since, len(part)); err != nil {
			out[k.at] = fmt.Errorf("metadata of %.200q: %w", ms[k.at].Path, err)
			continue
		}
		part = append(part, k)
		rec = appendMetadata(record.AppendText(rec, k.key), &k.Metadata, k.ifTime)
		if len(rec) >= metadataRecord {
			if err := flush(); err != nil {
				return nil, err
			}
			rec, part = rec[:0], part[len(part):]
		}
	}
	if err := flush(); err != nil || records > 0 {
		return out, err
	}
	return out, s.confirm(ctx)
}

// planMetadata checks metadata. out says what is wrong with the rest.
func (s *Store) planMetadata(ms []PathMetadata, out []error) []keyed {
	plan := make([]keyed, 0, len(ms))
	for i, m := range ms {
		if m.Expires {
			m.Metadata = Metadata{Time: m.Time, Expired: true}
		}
		check := newPath
		if m.Expires || m.Text == "" && len(m.Attributes) == 0 && m.Expire == 0 { // it goes, or expires
			check = CleanPath
		}
		key, _, err := check(m.Path)
		if err == nil {
			err = m.Check()
		}
		if err != nil {
			out[i] = fmt.Errorf("metadata of %.200q: %w", m.Path, err)
			continue
		}
		m.Attributes = slices.Clone(m.Attributes) // keep no slice of the caller's
		plan = append(plan, keyed{key: key, Metadata: m.Metadata, ifTime: m.Expires, at: i})
	}
	return plan
}

// metadataRoom refuses a new path beside damage, which may be its metadata. It refuses one that is
// no series if the limit has no room for it and coming others.
func (s *Store) metadataRoom(k *keyed, since uint64, coming int) error {
	if k.ifTime {
		return nil // metadata that expires is there already
	}
	m, err := s.metadataNow(k, since)
	if e, ok := errors.AsType[*DamageError](err); ok && string(e.Key) == k.key {
		return nil // it replaces existing metadata
	}
	if err != nil || m != nil || s.metadata.count.Load()+int64(coming) < int64(s.options.MaxSeries) {
		return err
	}
	if _, err := s.catalogue.lookup(k.key); !errors.Is(err, ErrNotFound) {
		return err
	}
	return ErrSeriesLimit
}

// A keyed is metadata that a look-up key is to have.
type keyed struct {
	key string
	Metadata
	ifTime bool // it expires
	at     int  // its place in the result

	// What findMetadata noted.
	old   *Metadata // what the key has; nil: nothing
	found bool      // old is known
}

// findMetadata notes what the keys of ms have, in one transaction. It holds as long as the
// metadata's forgotten is since: what changed meanwhile is in the overlay.
func (s *Store) findMetadata(ms []keyed) (since uint64) {
	s.metadata.mu.RLock()
	since = s.metadata.forgotten
	s.metadata.mu.RUnlock()
	_ = s.db.View(bucketMetadata, func(tx *boltfile.Tx) error { // metadataNow reports what fails
		c := tx.Bucket(bucketMetadata).Cursor()
		for i := range ms {
			old, err := boltfile.Find(&s.damage, c, bucketMetadata, []byte(ms[i].key), decodeMetadata)
			ms[i].old, ms[i].found = old, err == nil
		}
		return nil
	})
	return since
}

// metadataNow returns what the key of k has, or nil. since is what findMetadata has returned.
func (s *Store) metadataNow(k *keyed, since uint64) (*Metadata, error) {
	md := &s.metadata
	md.mu.RLock()
	newer, ok := md.changed[k.key]
	holds := k.found && since == md.forgotten
	md.mu.RUnlock()
	switch {
	case ok:
		return newer, nil
	case holds:
		return k.old, nil
	}
	return s.metadataOf(k.key)
}

// applyMetadata runs in log order. since is what findMetadata has returned.
func (s *Store) applyMetadata(ms []keyed, since uint64) error {
	for i := range ms {
		m := &ms[i]
		change := &m.Metadata
		if !m.ifTime {
			s.metadata.newest.Store(max(s.metadata.newest.Load(), int64(m.Time)))
		}
		old, err := s.metadataNow(m, since)
		if m.ifTime {
			if err != nil && !errors.Is(err, ErrDamaged) {
				return err
			}
			if old == nil || old.Time != m.Time {
				continue
			}
			switch _, err := s.catalogue.lookup(m.key); {
			case errors.Is(err, ErrNotFound):
				change = nil
			case err != nil:
				return err
			}
		}
		if err := s.replaceMetadata(m.key, change, old, err); err != nil {
			return err
		}
	}
	return nil
}

// putMetadata changes the overlay. It runs in log order.
func (s *Store) putMetadata(key string, m *Metadata) error {
	old, err := s.metadataOf(key)
	return s.replaceMetadata(key, m, old, err)
}

// replaceMetadata is putMetadata where old is what the key has, and err says why that is not known.
func (s *Store) replaceMetadata(key string, m, old *Metadata, err error) error {
	if errors.Is(err, ErrDamaged) {
		old, err = new(Metadata), nil // it existed: the new value replaces it, or it is removed
	}
	if err != nil {
		return err
	}
	if m != nil && m.none() {
		m = nil
	}
	if m == nil && old == nil {
		return nil
	}
	md := &s.metadata
	md.mu.Lock()
	if was, ok := md.changed[key]; ok {
		md.bytes -= len(key)
		if was != nil {
			md.bytes -= was.size()
		}
	}
	md.changed[key] = m
	md.bytes += len(key)
	if m != nil {
		md.bytes += m.size()
	}
	many := len(md.changed) > overlayOps || md.bytes > metadataBytes
	md.mu.Unlock()
	if !slices.Equal(attributesOf(old), attributesOf(m)) {
		s.catalogue.watches.report(Change{Path: key, Metadata: true})
	}
	switch {
	case old == nil:
		md.count.Add(1)
	case m == nil:
		md.count.Add(-1)
	}
	if many {
		s.admission.wake()
	}
	return nil
}

// Metadata returns the metadata of a path, or the zero Metadata if the path has none.
func (s *Store) Metadata(path string) (Metadata, error) {
	if err := s.enter(); err != nil {
		return Metadata{}, err
	}
	defer s.leave()
	key, _, err := CleanPath(path)
	if err != nil {
		return Metadata{}, nil // such a path has no metadata
	}
	m, err := s.metadataOf(key)
	if err != nil || m == nil {
		return Metadata{}, err
	}
	return *m, nil
}

// metadataOf returns the metadata under a look-up key, or nil.
func (s *Store) metadataOf(key string) (m *Metadata, err error) {
	md := &s.metadata
	md.mu.RLock()
	m, ok := md.changed[key]
	md.mu.RUnlock()
	if ok {
		return m, nil
	}
	err = s.db.View(bucketMetadata, func(tx *boltfile.Tx) (err error) {
		m, err = boltfile.Find(&s.damage, tx.Bucket(bucketMetadata).Cursor(), bucketMetadata, []byte(key), decodeMetadata)
		return err
	})
	if err != nil {
		return nil, err
	}
	md.mu.RLock() // the overlay may have changed meanwhile
	if newer, ok := md.changed[key]; ok {
		m = newer
	}
	md.mu.RUnlock()
	return m, nil
}

// ListMetadata yields the metadata of a query in order of the look-up keys of their paths. Path
// lacks a trailing .rrd. ListMetadata skips damaged entries; if it met any, it yields an error that
// wraps ErrDamaged last.
func (s *Store) ListMetadata(ctx context.Context, q MetadataQuery) iter.Seq2[PathMetadata, error] {
	return func(yield func(PathMetadata, error) bool) {
		if q.Path != "" {
			if m, err := s.Metadata(q.Path); err != nil || !m.none() {
				yield(PathMetadata{Path: nameKey(strings.TrimLeft(q.Path, "/")), Metadata: m}, err)
			}
			return
		}
		if err := s.enter(); err != nil {
			yield(PathMetadata{}, err)
			return
		}
		defer s.leave()
		prefix, after := nameKey(strings.TrimLeft(q.Prefix, "/")), nameKey(strings.TrimLeft(q.After, "/"))
		newer := s.metadata.view(prefix, after)
		var passed damage.Skipped
		for more := true; more; {
			var some []PathMetadata
			var err error
			some, more, err = s.someMetadata(newer, prefix, after, listChunk, &passed)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(PathMetadata{}, err)
				return
			}
			for _, x := range some {
				if after = x.Path; !yield(x, nil) {
					return
				}
			}
		}
		if err := passed.Err(); err != nil {
			yield(PathMetadata{}, err)
		}
	}
}

// view returns the changes of paths that begin with prefix and sort after after.
func (md *metadata) view(prefix, after string) table.View[*Metadata] {
	md.mu.RLock()
	defer md.mu.RUnlock()
	var list []table.Change[*Metadata]
	for key, m := range md.changed {
		if strings.HasPrefix(key, prefix) && key > after {
			list = append(list, table.Change[*Metadata]{Key: key, Value: m})
		}
	}
	slices.SortFunc(list, func(a, b table.Change[*Metadata]) int { return strings.Compare(a.Key, b.Key) })
	return table.ViewOf(list)
}

// someMetadata returns up to n values, of paths that begin with prefix and sort after after. more
// reports whether there are more.
func (s *Store) someMetadata(newer table.View[*Metadata], prefix, after string, n int, passed *damage.Skipped) (out []PathMetadata, more bool, err error) {
	err = s.db.View(bucketMetadata, func(tx *boltfile.Tx) error {
		c := newer.Cursor(tx, bucketMetadata, passed)
		for c.Seek([]byte(max(prefix, after))); c.Has(prefix); c.Next() {
			if string(c.Key) <= after && after != "" {
				continue
			}
			var m *Metadata
			if c.Change != nil {
				m = *c.Change
			} else if x, err := boltfile.Decode(&s.damage, bucketMetadata, c.Key, c.Value, decodeMetadata); !passed.Skip(err) {
				m = x
			}
			if m == nil || m.none() {
				continue
			}
			if len(out) == n {
				more = true
				return nil
			}
			out = append(out, PathMetadata{Path: string(c.Key), Metadata: *m})
		}
		c.End()
		return nil
	})
	return out, more, err
}

// How metadata is written: to the log, and by checkpoints to its bucket, key = look-up key.

func appendMetadata(dst []byte, m *Metadata, ifTime bool) []byte {
	dst = record.AppendTime(dst, m.Time, 0)
	var flags byte
	if ifTime {
		flags |= metadataIfTime
	}
	if m.Expired {
		flags |= metadataExpired
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(m.Expire))
	return appendLabels(record.AppendText(dst, m.Text), m.Attributes)
}

func readMetadata(r *record.Reader) (m Metadata, ifTime bool) {
	m.Time = r.Time(0)
	flags := r.Byte()
	if flags > metadataExpired|metadataIfTime {
		r.Fail()
	}
	m.Expired = flags&metadataExpired != 0
	m.Expire = int64(r.Uvarint())
	m.Text = r.Text()
	m.Attributes = readLabels(r)
	return m, flags&metadataIfTime != 0
}

func decodeMetadata(b []byte) (*Metadata, error) {
	r := record.Reader{Rest: b}
	m, _ := readMetadata(&r)
	if r.Err != nil || len(r.Rest) > 0 {
		return nil, record.ErrParse
	}
	return &m, nil
}

// readMetadataRecord decodes a metadata record.
func readMetadataRecord(r *record.Reader) []keyed {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
	}
	var ms []keyed
	for i := uint64(0); i < n && r.Err == nil; i++ {
		k := keyed{key: r.Text()}
		k.Metadata, k.ifTime = readMetadata(r)
		ms = append(ms, k)
	}
	return ms
}

// writeMetadata writes all changes. They include everything up to the position of the checkpoint.
// Newer changes among them do no harm, because replay ends with the same metadata.
func (s *Store) writeMetadata() error {
	s.metadata.mu.RLock()
	all := slices.Sorted(maps.Keys(s.metadata.changed))
	s.metadata.mu.RUnlock()
	for keys := range slices.Chunk(all, metadataPerTx) {
		if err := s.writeMetadataOf(keys); err != nil {
			return fmt.Errorf("write metadata: %w", err)
		}
		s.failpoint("checkpoint-metadata")
	}
	return nil
}

// writeMetadataOf writes the changes of keys, which are in order, in one transaction.
func (s *Store) writeMetadataOf(keys []string) error {
	md := &s.metadata
	values, pairs := make([]*Metadata, len(keys)), make([]pair, len(keys))
	md.mu.RLock()
	for i, k := range keys {
		values[i] = md.changed[k]
	}
	stored := md.stored
	md.mu.RUnlock()
	for i, m := range values {
		pairs[i].k = []byte(keys[i])
		if m != nil {
			pairs[i].v = record.AppendSum(appendMetadata(make([]byte, 0, 48+m.size()), m, false), bucketMetadata, pairs[i].k)
		}
	}
	return s.db.Update(bucketMetadata, func(tx *boltfile.Tx) error {
		c := tx.Bucket(bucketMetadata).Cursor()
		for _, p := range pairs {
			k, _ := c.Seek(p.k)
			switch had := bytes.Equal(k, p.k); {
			case p.v == nil && had:
				stored--
			case p.v != nil && !had:
				stored++
			}
		}
		if err := putAll(tx, bucketChange{bucketMetadata, pairs, boltfile.FillDefault}); err != nil {
			return err
		}
		return putNumber(tx, metaMetadata, uint64(stored))
	}, func(written bool) {
		if written {
			md.forget(keys, values, stored)
		}
	})
}

// forget drops the changes that the database now holds.
func (md *metadata) forget(keys []string, values []*Metadata, stored int64) {
	md.mu.Lock()
	defer md.mu.Unlock()
	md.stored = stored
	md.forgotten++
	for i, k := range keys {
		if m, ok := md.changed[k]; ok && m == values[i] {
			md.bytes -= len(k)
			if m != nil {
				md.bytes -= m.size()
			}
			delete(md.changed, k)
		}
	}
}

// load reads how many paths have metadata.
func (md *metadata) load(tx *boltfile.Tx) error {
	md.changed, md.forgotten = make(map[string]*Metadata), 1
	n, err := metaNumber(tx, metaMetadata)
	md.stored = int64(n)
	md.count.Store(md.stored)
	return err
}
