package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// The catalogue says which series there are: path, labels, definition, number.
// A change is a log record; it is applied when it is durable, in log order, to
// an overlay in memory, and written into the database by the next checkpoint.
// Whoever reads asks the overlay first. Numbers of classes, definitions and
// series are given out in log order, so that replay gives the same ones.

// A catalogue is the overlay and what numbers series.
type catalogue struct {
	classes atomic.Pointer[[]*class] // by id - 1
	defs    definitions
	count   atomic.Int64 // series
	renames atomic.Uint64
	arrives atomic.Int32 // the length of arriving

	planMu sync.Mutex // guards coming
	coming int64      // series planned and not yet in the catalogue

	mu      sync.RWMutex // guards what follows
	byShape map[string]*class
	byDef   map[string]*definition
	names   map[string]Ref // uncommitted changes: 0 is removed
	records map[Ref]*seriesRecord
	ops     []catOp // uncommitted, in log order
	pos     wal.Pos // up to which the database holds the catalogue
	stored  int64   // series the database holds

	settings []setting // uncommitted, in log order

	arriving map[Ref]struct{} // in the catalogue, and not yet in their groups
}

// A record is the catalogue's entry of one series.
type seriesRecord struct {
	path   string
	labels []Label
	def    uint32
	born   birth
}

// A birth is where in the log a series was made. Zero: that is not known any more.
type birth struct {
	pos wal.Pos // of the create or import record
	nth uint32  // the place of the series in it
}

// A catOp is one change of the catalogue that the database does not hold yet.
type catOp struct {
	pos    wal.Pos
	ref    Ref
	key    string        // of names
	add    *seriesRecord // nil: removed
	old    *seriesRecord // removed: what it was
	class  *class        // new with this op
	def    *definition
	rename bool // old goes, add comes, under one ref
	oldKey string
	// relabel is a rename to the same name with other labels.
	relabel bool
}

// Create makes one series and returns once it is durable. With ErrExists it returns the reference of the series that has
// the path already.
func (s *Store) Create(ctx context.Context, spec Spec) (Ref, error) {
	out, err := s.CreateBatch(ctx, []Spec{spec})
	if err != nil {
		return 0, err
	}
	return out[0].Ref, out[0].Err
}

// A planned is a checked Spec.
type planned struct {
	Spec
	key string
	m   *rra.Machine
	def string // canonical code of the definition
	at  int    // its place in the result
}

// smoothBy returns the hash by which the SEASONAL archives of p smooth.
func (p *planned) smoothBy() uint64 {
	if p.SmoothHash != 0 {
		return p.SmoothHash
	}
	return rra.NameHash(p.Path)
}

// CreateBatch makes many series with one log record. out[i] is the outcome of specs[i].
// More than MaxBatch are ErrInvalid.
func (s *Store) CreateBatch(ctx context.Context, specs []Spec) ([]Created, error) {
	if n := len(specs); n > MaxBatch {
		return nil, invalid("%d series at once, at most %d are possible", n, MaxBatch)
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	out := make([]Created, len(specs))
	plan := s.reserve(s.passDamaged(s.plan(specs, out), out), out)
	if len(plan) == 0 {
		s.leave()
		return out, nil
	}
	giveUp := func(err error) ([]Created, error) {
		s.catalogue.arrive(len(plan), func() {})
		s.leave()
		return nil, err
	}
	rec := appendCreate(nil, plan)
	if err := checkRecord(rec); err != nil {
		return giveUp(err)
	}
	reserved, err := s.reserveSeries(ctx, plan)
	if err != nil {
		return giveUp(fmt.Errorf("create %.200q: %w", plan[0].Path, err))
	}
	defer reserved.end()
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	t.op = &op{rec: rec}
	applied := false
	t.op.apply = func(t *Ticket) {
		s.catalogue.arrive(len(plan), func() { s.applyCreate(t, plan, out) })
		applied = true
	}
	if err = s.appender.submitOp(t, s.appender.lock); err != nil {
		s.leave()
	} else {
		err = t.Wait()
	}
	if !applied {
		s.catalogue.arrive(len(plan), func() {})
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// plan checks specs and compiles their definitions, each distinct one once.
func (s *Store) plan(specs []Spec, out []Created) []planned {
	plan := make([]planned, 0, len(specs))
	var last planned // with the definition compiled last
	var bad error    // if it cannot be
	for i, sp := range specs {
		key, p, err := cleanPath(sp.Path)
		if err != nil { // it names the path, as far as that is printable
			out[i].Err = fmt.Errorf("create: %w", err)
			continue
		}
		err = checkLabels(sp.Labels)
		if err == nil && (sp.Definition == nil || sp.Start > MaxTime || sp.Start < -MaxTime) {
			err = invalid("a series needs a definition and a start within range")
		}
		if err == nil && sp.Definition != last.Definition {
			last = planned{Spec: Spec{Definition: sp.Definition}}
			last.m, last.def, bad = s.admitDefinition(sp.Definition)
		}
		if err == nil {
			err = bad
		}
		if err != nil {
			out[i].Err = fmt.Errorf("create %.200q: %w", sp.Path, err)
			continue
		}
		sp.Path, sp.Labels, sp.Definition = p, slices.Clone(sp.Labels), nil // what is the caller's stays the caller's
		plan = append(plan, planned{sp, key, last.m, last.def, i})
	}
	return plan
}

// reserve takes those out of plan for which there is no room. A look-up each is made only where it may matter.
func (s *Store) reserve(plan []planned, out []Created) []planned {
	cat := &s.catalogue
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	room := int64(s.options.MaxSeries) - cat.count.Load() - cat.coming
	if room < int64(len(plan)) {
		plan = slices.DeleteFunc(plan, func(p planned) bool {
			ref, err := s.lookup(p.key)
			switch {
			case err == nil && p.Overwrite:
				return false
			case err == nil:
				out[p.at] = Created{Ref: ref, Err: fmt.Errorf("create %q: %w", p.Path, ErrExists)}
				return true
			case room <= 0:
				out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, ErrSeriesLimit)
				return true
			}
			room--
			return false
		})
	}
	cat.coming += int64(len(plan))
	return plan
}

// arrive runs apply, after which n planned series are in the catalogue or never will be.
func (cat *catalogue) arrive(n int, apply func()) {
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	apply()
	cat.coming -= int64(n)
}

// applyCreate gives the planned series numbers. It runs in log order.
func (s *Store) applyCreate(t *Ticket, plan []planned, out []Created) {
	for i := range plan {
		p := &plan[i]
		old, err := s.lookup(p.key)
		if err == nil && !p.Overwrite {
			out[p.at] = Created{Ref: old, Err: fmt.Errorf("create %q: %w", p.Path, ErrExists)}
			continue
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			out[p.at].Err = err
			continue
		}
		d, ref, g := s.enlist(t, p, old, i)
		s.failpoint("catalogue-create")
		out[p.at].Ref = ref
		index, at, hash := d.class.index(ref.number()), p.Start, p.smoothBy()
		t.op.do = append(t.op.do, groupOp{g, func(_ *shard, g *group) {
			g.start(index, d, at)
			d.m.SmoothBy(g.state(index).W, hash)
		}, ref})
	}
}

// enlist puts a new series, the nth of its record, into the catalogue, at once in place of old, if that is not 0. It runs
// in log order.
func (s *Store) enlist(t *Ticket, p *planned, old Ref, nth int) (*definition, Ref, *group) {
	cat := &s.catalogue
	var was *seriesRecord
	if old != 0 {
		was = s.recordOr(old)
		s.stopIn(t, old)
	}
	cat.mu.Lock()
	defer cat.mu.Unlock()
	if old != 0 {
		cat.remove(t, old, p.key, was)
	}
	o := catOp{pos: t.pos, key: p.key}
	d := s.intern(p, &o)
	o.ref = makeRef(d.class.id, d.class.next.Load())
	d.class.next.Add(1)
	g := s.makeGroup(d.class, o.ref.number()>>d.class.shift)
	o.add = &seriesRecord{path: p.Path, labels: p.Labels, def: d.id, born: birth{t.pos, uint32(nth)}}
	cat.names[p.key] = o.ref
	cat.records[o.ref] = o.add
	cat.ops = append(cat.ops, o)
	if len(cat.ops) > overlayOps {
		s.admission.wake()
	}
	cat.count.Add(1)
	if cat.arriving == nil {
		cat.arriving = make(map[Ref]struct{})
	}
	cat.arriving[o.ref] = struct{}{}
	cat.arrives.Add(1)
	return d, o.ref, g
}

// arrived notes that a series is in its group.
func (cat *catalogue) arrived(ref Ref) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	delete(cat.arriving, ref)
	cat.arrives.Store(int32(len(cat.arriving)))
}

// arrivalTime bounds how long a look-up waits for a series: only a store that is broken needs as long.
const arrivalTime = 5 * time.Second

// awaitArrival waits until a series of the catalogue is in its group, so that who has found it finds its state.
func (cat *catalogue) awaitArrival(ref Ref) {
	if cat.arrives.Load() == 0 {
		return
	}
	for end := time.Now().Add(arrivalTime); time.Now().Before(end); time.Sleep(20 * time.Microsecond) {
		cat.mu.RLock()
		_, coming := cat.arriving[ref]
		cat.mu.RUnlock()
		if !coming {
			return
		}
	}
}

// intern returns the definition of p, making it and its class if they are new. The caller holds mu.
func (s *Store) intern(p *planned, o *catOp) *definition {
	cat := &s.catalogue
	if d := cat.byDef[p.def]; d != nil {
		return d
	}
	c := cat.byShape[p.m.Shape()]
	if c == nil {
		c = newClass(uint32(len(*cat.classes.Load())+1), p.m, &s.space, &cat.defs)
		cat.addClass(c)
		o.class = c
	}
	d := newDefinition(uint32(len(*cat.defs.Load())+1), p.m, c)
	s.addDefinition(d, p.def)
	o.def = d
	return d
}

func (cat *catalogue) addClass(c *class) {
	cs := append((*cat.classes.Load())[:len(*cat.classes.Load()):len(*cat.classes.Load())], c)
	cat.classes.Store(&cs)
	cat.byShape[c.shape] = c
}

func (s *Store) addDefinition(d *definition, key string) {
	cat := &s.catalogue
	s.admission.definitions.Add(definitionBytes(d.m, len(key)))
	old := *cat.defs.Load()
	ds := append(old, d) // readers see the length they loaded
	cat.defs.Store(&ds)
	cat.byDef[key] = d
}

func newDefinition(id uint32, m *rra.Machine, c *class) *definition {
	d := &definition{id: id, m: m, class: c}
	for _, ds := range m.Definition().Sources {
		if ds.Kind != rra.Compute {
			d.values++
		}
	}
	return d
}

// definition returns an interned definition by number, or nil.
func (s *Store) definition(id uint32) *definition { return s.catalogue.defs.byID(id) }

// class returns a class by number, or nil.
func (cat *catalogue) class(id uint32) *class {
	cs := *cat.classes.Load()
	if id == 0 || int(id) > len(cs) {
		return nil
	}
	return cs[id-1]
}

// makeGroup returns a group of c, making it and those before it if they are new.
func (s *Store) makeGroup(c *class, id uint32) *group {
	gs := *c.groups.Load()
	if int(id) < len(gs) {
		return gs[id]
	}
	for len(gs) <= int(id) {
		n := uint32(len(gs))
		gs = append(gs, &group{c: c, id: n, shard: int(c.id*31+n) % len(s.shards)})
	}
	c.groups.Store(&gs)
	return gs[id]
}

// groupAt returns the group that a log record names.
func (s *Store) groupAt(class, id uint32) (*group, error) {
	if c := s.catalogue.class(class); c != nil {
		if gs := *c.groups.Load(); int(id) < len(gs) {
			return gs[id], nil
		}
	}
	return nil, fmt.Errorf("no group %d of class %d: %w", id, class, record.ErrParse)
}

// remove takes a series out of the catalogue and its group.
func (s *Store) remove(t *Ticket, ref Ref, key string) {
	rec := s.recordOr(ref)
	cat := &s.catalogue
	cat.mu.Lock()
	cat.remove(t, ref, key, rec)
	cat.mu.Unlock()
	s.stopIn(t, ref)
}

// recordOr returns the record of a series, or an empty one if it cannot be read.
func (s *Store) recordOr(ref Ref) *seriesRecord {
	rec, err := s.record(ref)
	if err != nil {
		return &seriesRecord{}
	}
	return rec
}

// remove takes a series, whose record is rec, out of the catalogue. The caller holds mu.
func (cat *catalogue) remove(t *Ticket, ref Ref, key string, rec *seriesRecord) {
	cat.names[key] = 0
	cat.records[ref] = nil
	cat.ops = append(cat.ops, catOp{pos: t.pos, ref: ref, key: key, old: rec})
	cat.count.Add(-1)
}

// removed reports whether a series was taken out of the catalogue, be it still in its group.
func (cat *catalogue) removed(ref Ref) bool {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	rec, ok := cat.records[ref]
	return ok && rec == nil
}

// stopIn has a series end in its group.
func (s *Store) stopIn(t *Ticket, ref Ref) {
	c := s.catalogue.class(ref.class())
	index := c.index(ref.number())
	t.op.do = append(t.op.do, groupOp{c.group(ref.number()), func(_ *shard, g *group) { g.stop(index) }, 0})
}

// stop ends the series at an index. Its rows go when their slots are merged or expire.
func (g *group) stop(index int) {
	if index >= g.n {
		return
	}
	g.flags[index] &^= flagAlive
	delete(g.refused, index)
	g.dropLongRuns(index)
	g.setText(index, nil)
	g.dropHeld(index)
	g.dirty = true
}

// Drop removes a series with its metadata, or the metadata of a path that is no series.
func (s *Store) Drop(ctx context.Context, path string) error {
	key, _, err := cleanPath(path)
	if err != nil {
		return err
	}
	if err := s.damagedName(key); err != nil {
		return fmt.Errorf("drop %q: %w", key, err)
	}
	return s.change(ctx, dropRecord(key, 0), func(t *Ticket) error { return s.applyDrop(t, key, 0) }, key)
}

// dropRecord codes the drop of what has a key; with only, of that series and no other.
func dropRecord(key string, only Ref) []byte {
	return binary.AppendUvarint(record.AppendText([]byte{record.KindDrop}, key), uint64(only))
}

// applyDrop runs in log order. With only it drops that series, and nothing if the key is another's by now.
func (s *Store) applyDrop(t *Ticket, key string, only Ref) error {
	ref, err := s.lookup(key)
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("drop %q: %w", key, err)
	}
	if only != 0 && (err != nil || ref != only) {
		return fmt.Errorf("drop %q: %w", key, errReplaced)
	}
	if err != nil {
		m, _ := s.metadataOf(key) // what cannot be read cannot be dropped
		if m == nil {
			return fmt.Errorf("drop %q: %w", key, err)
		}
	} else {
		s.remove(t, ref, key)
	}
	return s.putMetadata(key, nil)
}

// change logs a record and returns what apply, in log order, makes of it. It changes what is kept under keys.
func (s *Store) change(ctx context.Context, rec []byte, apply func(*Ticket) error, keys ...string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.changeNow(rec, apply, s.appender.lock, keys...)
}

// changeNow is change without a wait for room. The call is counted, and leaves. lock takes the appender's mu.
func (s *Store) changeNow(rec []byte, apply func(*Ticket) error, lock func(), keys ...string) error {
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	var outcome error
	t.op = &op{rec: rec, keys: keys, apply: func(t *Ticket) { outcome = apply(t) }}
	if err := s.appender.submitOp(t, lock); err != nil {
		s.leave()
		return err
	}
	if err := t.Wait(); err != nil {
		return err
	}
	return outcome
}
