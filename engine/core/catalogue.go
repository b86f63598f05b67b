package core

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
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

	classes atomic.Pointer[[]*class] // by id - 1
	defs    definitions
	count   atomic.Int64  // series
	renames atomic.Uint64 // since the store was opened
	arrives atomic.Int32  // how many series arriving has

	watches watches

	planMu sync.Mutex     // guards what follows
	coming int64          // series planned and not yet in the catalogue
	shapes map[string]int // of classes planned and not yet in the catalogue: how many series

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
	arriving map[groupID]*posting   // series of the catalogue that are not yet in their groups
	arrival  chan struct{}          // closed and replaced when some of them arrive

	forgotten uint64 // 1, and once more for each time that changes left ops: the database has them

	nameTable  table[Ref]           // the bucket names; 0: the name is no series any more
	labelTable table[postingChange] // the bucket labels
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
	cat.nameTable.of, cat.nameTable.over = nameChanges, func(newer, _ Ref) Ref { return newer }
	cat.labelTable.of, cat.labelTable.over = cat.labelChanges, postingChange.over
	cat.shapes = make(map[string]int)
	cat.arriving = make(map[groupID]*posting)
	cat.arrival = make(chan struct{})
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
	cat.ops = append(cat.ops, o)
	cat.watches.tellOp(&o)
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

// removed tells whether a series was taken out of the catalogue, although it may still be in its
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
