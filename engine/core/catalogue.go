package core

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/table"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// The catalogue holds the path, labels, definition and number of each series. A change of the
// catalogue is a log record. Once the record is durable it is applied, in log order, to an overlay
// in memory. The next checkpoint writes the overlay into the database. A reader asks the overlay
// first and the database second. Classes, definitions and series get their numbers in log order, so
// that replay gives them the same numbers.

// A catalogue is the catalogue of one store. It knows the database and the memory of the groups,
// not the store.
type catalogue struct {
	db        *boltfile.File
	damage    *damage.Seen
	space     *groupSpace
	admission *admission
	options   *Options
	shards    int // groups are spread over this many

	classes  atomic.Pointer[[]*class] // by id - 1
	defs     definitions
	count    atomic.Int64  // series, and those on their way into the catalogue
	renames  atomic.Uint64 // since the store was opened
	arriving atomic.Int32  // series of the catalogue that are not yet in their groups

	watches watches

	reserving sync.Mutex // held while series are counted that are to be made

	// mu guards the overlay and what follows it. A group's mu may be held when it is taken. While
	// it is held, no transaction is begun.
	mu       sync.RWMutex
	byShape  map[string]*class
	byDef    map[string]*definition // by code
	names    map[string]changedName // by key, what the database does not hold yet
	records  map[Ref]changedRecord  // the same of series
	ops      []catOp                // what the database does not hold yet, in log order
	settings []setting              // the same
	pos      wal.Pos                // up to which the database holds the catalogue
	stored   int64                  // how many series the database holds

	forgotten uint64 // 1, and once more for each time that changes left ops: the database has them

	nameTable  table.Table[catOp, Ref]               // the bucket names; 0: no series any more
	labelTable table.Table[catOp, labelindex.Change] // the bucket labels
}

// A changedName is what a name means since a change: a series, or 0.
type changedName struct {
	ref Ref
	pos wal.Pos // of the change
}

// A changedRecord is the record of a series since a change; nil: the series is removed.
type changedRecord struct {
	rec *seriesRecord
	pos wal.Pos // of the change
}

// init connects an empty catalogue to what it works with. Its groups go to n shards.
func (cat *catalogue) init(s *Store, n int) {
	cat.db, cat.damage, cat.space, cat.admission, cat.options, cat.shards = s.db, &s.damage, &s.space, &s.admission, &s.options, n
	cat.forgotten = 1
	cat.byShape, cat.byDef = make(map[string]*class), make(map[string]*definition)
	cat.names, cat.records = make(map[string]changedName), make(map[Ref]changedRecord)
	cat.nameTable.Changes, cat.nameTable.Over = nameChanges, func(newer, _ Ref) Ref { return newer }
	cat.labelTable.Changes, cat.labelTable.Over = cat.labelChanges, labelindex.Change.Over
	cat.classes.Store(&[]*class{})
	cat.defs.Store(&[]*definition{})
}

// A seriesRecord is what the catalogue keeps of one series.
type seriesRecord struct {
	path   string
	labels []Label
	def    uint32 // number of the definition
}

// A catOp is one change of the catalogue that the database does not hold yet.
type catOp struct {
	pos wal.Pos
	ref Ref
	key string        // of the name that the series has, or had
	add *seriesRecord // the record from now on; nil: the series is removed
	old *seriesRecord // the record before; nil: the series is new
	def *definition   // made by this change; or nil
}

// holder returns the series that has the name key after the change; 0: none.
func (o *catOp) holder() Ref {
	if o.add == nil {
		return 0
	}
	return o.ref
}

// freed returns the name that the series of a rename had before.
func (o *catOp) freed() (key string, ok bool) {
	if o.add == nil || o.old == nil {
		return "", false
	}
	key = nameKey(o.old.path)
	return key, key != o.key
}

// relabels reports whether the change puts the series under other labels of the index.
func (o *catOp) relabels() bool {
	return o.add == nil || o.old == nil || !slices.Equal(o.add.labels, o.old.labels)
}

// append adds a change. The caller holds mu.
func (cat *catalogue) append(o catOp) {
	if key, ok := o.freed(); ok {
		cat.names[key] = changedName{0, o.pos}
	}
	cat.names[o.key] = changedName{o.holder(), o.pos}
	cat.records[o.ref] = changedRecord{o.add, o.pos}
	if len(cat.ops) == cap(cat.ops) { // append would copy long lists more often
		cat.ops = slices.Grow(cat.ops, max(256, len(cat.ops)))
	}
	cat.ops = append(cat.ops, o)
	cat.watches.reportOp(&o)
	if len(cat.ops) > overlayOps {
		cat.admission.wake()
	}
}

// checkpointed returns the position up to which the database holds the catalogue.
func (cat *catalogue) checkpointed() wal.Pos {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	return cat.pos
}

// removed reports whether a series was taken out of the catalogue, although it may still be in its
// group.
func (cat *catalogue) removed(ref Ref) bool {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	x, ok := cat.records[ref]
	return ok && x.rec == nil
}

// A setting is a reorder window put in force by a log record.
type setting struct {
	pos     wal.Pos
	reorder rra.Time
}

// overlayOps is how many changes wait in memory before a checkpoint is asked for.
const overlayOps = 64 << 10

func (cat *catalogue) lookup(key string) (Ref, error) {
	cat.mu.RLock()
	newest, ok := cat.names[key]
	cat.mu.RUnlock()
	ref := newest.ref
	if !ok {
		err := cat.db.View(bucketNames, func(tx *boltfile.Tx) (err error) {
			ref, err = cat.storedName(tx.Bucket(bucketNames).Cursor(), []byte(key))
			return err
		})
		if err != nil {
			return 0, err
		}
		if ref != 0 { // the overlay may have changed meanwhile
			cat.mu.RLock()
			if newer, ok := cat.names[key]; ok {
				ref = newer.ref
			}
			cat.mu.RUnlock()
		}
	}
	if ref == 0 {
		return 0, ErrNotFound
	}
	return ref, nil
}

// storedName returns the series that has a name in the database; 0: none.
func (cat *catalogue) storedName(c *boltfile.Cursor, key []byte) (Ref, error) {
	return boltfile.Find(cat.damage, c, bucketNames, key, cat.decodeName)
}

func (cat *catalogue) record(ref Ref) (*seriesRecord, error) {
	rec, ok := cat.changedRecord(ref)
	if !ok {
		err := cat.db.View(bucketSeries, func(tx *boltfile.Tx) (err error) {
			rec, err = cat.recordIn(tx, ref)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ref %d: %w", ref, err)
		}
	}
	if rec == nil {
		return nil, notFound(ref)
	}
	return rec, nil
}

// changedRecord returns the record of a series if the overlay has it; nil: the series was dropped.
func (cat *catalogue) changedRecord(ref Ref) (*seriesRecord, bool) {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	x, ok := cat.records[ref]
	return x.rec, ok
}

// recordIn returns the record of a series as a transaction shows it, or nil.
func (cat *catalogue) recordIn(tx *boltfile.Tx, ref Ref) (*seriesRecord, error) {
	return boltfile.Find(cat.damage, tx.Bucket(bucketSeries).Cursor(), bucketSeries, refKey(ref), cat.decodeRecord)
}

func refKey(ref Ref) []byte { return binary.BigEndian.AppendUint64(nil, uint64(ref)) }

func (rec *seriesRecord) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(rec.def))
	return appendLabels(record.AppendText(dst, rec.path), rec.labels)
}

// parseRecord decodes the record of a series.
func parseRecord(b []byte) (*seriesRecord, error) {
	r := record.Reader{Rest: b}
	rec := &seriesRecord{def: uint32(r.Uvarint()), path: r.Text(), labels: readLabels(&r)}
	if r.Err != nil || len(r.Rest) > 0 || rec.def == 0 {
		return nil, fmt.Errorf("catalogue record of %d bytes: %w", len(b), record.ErrParse)
	}
	return rec, nil
}

// decodeRecord is parseRecord. The definition is one that there is.
func (cat *catalogue) decodeRecord(b []byte) (*seriesRecord, error) {
	rec, err := parseRecord(b)
	if err != nil {
		return nil, err
	}
	if cat.definition(rec.def) == nil {
		return nil, fmt.Errorf("series %q: no definition %d: %w", rec.path, rec.def, record.ErrParse)
	}
	return rec, nil
}

// storedRecord checks and decodes a value of the bucket series.
func (cat *catalogue) storedRecord(k, v []byte) (*seriesRecord, error) {
	return boltfile.Decode(cat.damage, bucketSeries, k, v, cat.decodeRecord)
}

// decodeName decodes a value of the bucket names. The class of the series must exist.
func (cat *catalogue) decodeName(b []byte) (Ref, error) {
	if len(b) != 8 || !cat.numbered(Ref(binary.BigEndian.Uint64(b))) {
		return 0, record.ErrParse
	}
	return Ref(binary.BigEndian.Uint64(b)), nil
}

// numbered reports whether the class and the group of a reference exist.
func (cat *catalogue) numbered(ref Ref) bool {
	c := cat.class(ref.class())
	return c != nil && c.group(ref.number()) != nil
}

// recordOr returns the record of a series, or an empty one if it cannot be read.
func (cat *catalogue) recordOr(ref Ref) *seriesRecord {
	rec, err := cat.record(ref)
	if err != nil {
		return &seriesRecord{}
	}
	return rec
}

func (cat *catalogue) seriesOf(ref Ref, rec *seriesRecord) Series {
	return Series{Ref: ref, Path: rec.path, Labels: rec.labels, Definition: cat.definition(rec.def).m.Definition()}
}

// pathOf returns the path of a series for a message, or "" if it cannot be read. It uses the
// transaction that met the damage: a second transaction could wait for a writer that waits for the
// first.
func (cat *catalogue) pathOf(tx *boltfile.Tx, c *class, group uint32, index int) string {
	ref := c.refAt(group, index)
	rec, ok := cat.changedRecord(ref)
	if !ok {
		rec, _ = cat.recordIn(tx, ref) // a damaged record has no path to name
	}
	if rec == nil {
		return ""
	}
	return rec.path
}

const suffix = ".rrd"

// nameKey returns the look-up key of a path: the path without a trailing .rrd.
func nameKey(p string) string { return strings.TrimSuffix(p, suffix) }

// CleanPath returns the look-up key of a path and the path as a series has it: without leading
// slashes and "." or empty components. The key lacks a trailing .rrd as well. The error wraps
// ErrInvalid if no series can have the path, as one that leads above the top.
//
// Names come into the store through newPath and checkLabels alone. So a name is UTF-8 without
// control characters wherever it is printed, sent or quoted. CleanPath takes hidden ones: older
// stores have such names.
func CleanPath(path string) (key, clean string, err error) { return cleaned(path, text.Printable) }

// newPath is CleanPath for a path that a series is to get.
func newPath(p string) (key, clean string, err error) { return cleaned(p, text.Check) }

func cleaned(p string, check func(string) error) (key, clean string, err error) {
	clean = path.Clean(strings.TrimLeft(p, "/"))
	switch {
	case len(p) > MaxPath:
		return "", "", invalid("path of %d bytes: at most %d are possible", len(p), MaxPath)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", "", invalid("path %.200q leaves the store", p)
	}
	if err := check(p); err != nil {
		return "", "", invalid("path %.200q %w", p, err)
	}
	key = nameKey(clean)
	if clean == "." || key == "" || strings.HasSuffix(key, "/") {
		return "", "", invalid("path %.200q names no series", p)
	}
	return key, clean, nil
}

// Lookup returns the series of a path. A trailing .rrd may be left out or added. The error wraps
// ErrNotFound if the path is no series.
func (s *Store) Lookup(p string) (Ref, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	key, _, err := CleanPath(p)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	ref, err := s.catalogue.lookup(key)
	if err == nil {
		s.awaitArrival(ref)
	}
	return ref, err
}

// LookupAll is Lookup for many paths, in one transaction. out[i] is the series of paths[i]; 0: the
// path is no series.
func (s *Store) LookupAll(paths []string) ([]Ref, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	out, all, names := make([]Ref, len(paths)), make([]named, len(paths)), make([]*named, 0, len(paths))
	for i, p := range paths {
		if key, _, err := CleanPath(p); err == nil { // else it is no series
			all[i].key, names = key, append(names, &all[i])
		}
	}
	s.catalogue.find(names)
	s.catalogue.mu.RLock() // the overlay may have changed meanwhile
	for i := range all {
		all[i].old, all[i].unknown = s.catalogue.now(&all[i])
	}
	s.catalogue.mu.RUnlock()
	for i, p := range all {
		if p.unknown != nil {
			return nil, fmt.Errorf("look up %q: %w", p.key, p.unknown)
		}
		if out[i] = p.old; p.old != 0 {
			s.awaitArrival(p.old)
		}
	}
	return out, nil
}

// Series returns the catalogue entry of a reference.
func (s *Store) Series(ref Ref) (Series, error) {
	if err := s.enter(); err != nil {
		return Series{}, err
	}
	defer s.leave()
	rec, err := s.catalogue.record(ref)
	if err != nil {
		return Series{}, err
	}
	return s.catalogue.seriesOf(ref, rec), nil
}
