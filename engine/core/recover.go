package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// Recovery is replay: the catalogue as the last checkpoint left it, then every
// record of the log behind its position, through the functions that append uses.
// Records of samples go to all shards as they are; each decodes the runs of its
// own groups, and passes over those that the state of a group already holds.
// Changes of the catalogue are applied here, in order. A store that is opened for
// one command puts the samples off: see deferred.go.

const replayChunk = 512 << 10 // bytes of records handed to the shards at a time

// replay applies the log behind the catalogue's position.
func (s *Store) replay() error {
	from := s.catalogue.pos + 1
	if first := s.log.First(); from < first && first != 0 {
		return fmt.Errorf("%w: the store holds the log up to %d, the log begins at %d", wal.ErrHole, from-1, first)
	}
	s.replaying = true
	defer func() { s.replaying = false }()
	r := &replayer{s: s, c: &delivery{}, lazy: s.options.NoBackground || s.options.ReadOnly}
	if err := s.log.Replay(from, r.record); err != nil {
		return err
	}
	r.flush()
	r.wait.Wait()
	if e := s.replayErr.Load(); e != nil {
		return *e
	}
	for _, sh := range s.shards {
		sh.applied.Store(uint64(s.log.Last()))
	}
	return nil
}

// A replayer gathers records for the shards.
type replayer struct {
	s    *Store
	c    *delivery
	wait sync.WaitGroup

	lazy     bool   // samples wait until their group is loaded
	deferred int    // bytes of records that wait
	kept     []byte // some of them
}

func (r *replayer) record(p wal.Pos, rec []byte) error {
	s := r.s
	s.replayedRecords.Add(1)
	s.replayed.Add(int64(len(rec)))
	if len(rec) == 0 {
		return recordError("empty", uint64(p))
	}
	if r.lazy && r.deferred > deferredMost {
		if err := s.applyAllDeferred(); err != nil {
			return err
		}
		r.lazy = false
	}
	if rec[0] == record.KindSamples && r.lazy {
		return r.deferRuns(p, rec)
	}
	if rec[0] == record.KindSamples {
		c := r.c
		if c.buf == nil {
			c.buf = make([]byte, 0, replayChunk+len(rec))
		}
		from := len(c.buf)
		c.buf = append(c.buf, rec...)
		c.records = append(c.records, rawRecord{p, uint32(from), uint32(len(c.buf))})
		c.last = p
		if len(c.buf) >= replayChunk {
			r.flush()
		}
		return nil
	}
	r.flush()
	t := &Ticket{pos: p, op: &op{}}
	s.appender.ready(t)
	t.op = &op{}
	if err := s.replayOp(t, p, bytes.Clone(rec)); err != nil {
		return err
	}
	if t.op.apply == nil {
		return nil
	}
	t.pos = p
	t.op.apply(t)
	if e := s.replayErr.Load(); e != nil {
		return *e
	}
	c := &delivery{tickets: []*Ticket{t}, masks: []uint64{math.MaxUint64}, last: p, wait: &r.wait}
	t.left.Store(int32(len(s.shards)) + 1) // nobody waits for it
	if r.lazy {
		for _, sh := range s.shards { // which are idle
			sh.apply(s, t)
		}
		return nil
	}
	r.send(c)
	return nil
}

func (r *replayer) flush() {
	if len(r.c.records) == 0 {
		return
	}
	r.c.wait = &r.wait
	r.send(r.c)
	r.c = &delivery{}
}

func (r *replayer) send(c *delivery) {
	r.wait.Add(len(r.s.shards))
	for _, sh := range r.s.shards {
		sh.work <- c
	}
}

// replayOp gives t what a record that is not samples does.
func (s *Store) replayOp(t *Ticket, p wal.Pos, rec []byte) error {
	r := record.Reader{Rest: rec[1:]}
	known := p <= s.catalogue.pos
	switch rec[0] {
	case record.KindCreate:
		plan, err := s.replayCreate(&r)
		if err != nil {
			return fmt.Errorf("log position %d: %w", p, err)
		}
		out := make([]Created, len(plan))
		t.op.apply = func(t *Ticket) { s.applyCreate(t, plan, out) }
	case record.KindDrop:
		key, only := r.Text(), Ref(r.Uvarint())
		t.op.apply = func(t *Ticket) { _ = s.applyDrop(t, key, only) } // its caller was told
	case record.KindRename:
		from, to := r.Text(), r.Text()
		var m *Metadata
		if len(r.Rest) > 0 {
			moved, _ := readMetadata(&r)
			m = &moved
		}
		t.op.apply = func(t *Ticket) { _ = s.applyRename(t, from, to, m) } // its caller was told
	case record.KindNote:
		key, n := readNote(&r)
		t.op.apply = func(t *Ticket) { s.notes.add(key, n, p) }
	case record.KindMetadata, record.KindRelabel:
		s.replayMetadataOp(t, rec[0], &r, p)
	case record.KindImport:
		x, err := s.replayImport(&r)
		if err != nil {
			return fmt.Errorf("log position %d: %w", p, err)
		}
		t.op.apply = func(t *Ticket) { s.applyImport(t, x, new(Created)) }
	case record.KindSettings:
		window := r.Time(0)
		t.op.apply = func(t *Ticket) { s.applySettings(t, window) }
	case record.KindBarrier:
	default:
		return fmt.Errorf("log position %d: record of kind %d: %w", p, rec[0], ErrVersion)
	}
	if r.Err != nil {
		return recordError("catalogue", uint64(p))
	}
	if known {
		t.op.apply = nil
	}
	return nil
}

// replayError keeps the first error of a shard.
func (s *Store) replayError(err error) { s.replayErr.CompareAndSwap(nil, &err) }

// loadCatalogue reads what the catalogue keeps in memory: classes, definitions, and the position
// that no log record to come may have.
func (s *Store) loadCatalogue() (after wal.Pos, err error) {
	cat := &s.catalogue
	cat.byShape, cat.byDef = make(map[string]*class), make(map[string]*definition)
	cat.names, cat.records = make(map[string]Ref), make(map[Ref]*seriesRecord)
	cat.classes.Store(&[]*class{})
	cat.defs.Store(&[]*definition{})
	err = s.db.View(nil, func(tx *bolt.Tx) error {
		if err := s.loadMark(tx); err != nil {
			return err
		}
		var numbers [4]uint64
		for i, key := range [][]byte{metaCatalogue, metaCount, metaGroups, metaReorder} {
			var err error
			if numbers[i], err = metaNumber(tx, key); err != nil {
				return err
			}
		}
		cat.pos, cat.stored = wal.Pos(numbers[0]), int64(numbers[1])
		cat.count.Store(cat.stored)
		after = max(cat.pos, wal.Pos(numbers[2]))
		for _, sh := range s.shards {
			sh.reorder = rra.Time(numbers[3])
		}
		if err := s.loadDefinitions(tx); err != nil {
			return err
		}
		if err := s.metadata.load(tx); err != nil {
			return err
		}
		s.notes.load(s, tx)
		return nil
	})
	return after, err
}

// metaNumber returns a number of the bucket meta, which are always there.
func metaNumber(tx *bolt.Tx, key []byte) (uint64, error) {
	v, err := getValue(tx, bucketMeta, key)
	switch {
	case err != nil:
		return 0, err
	case v == nil:
		return 0, damagedValue(bucketMeta, key, errMissing)
	case len(v) != 8:
		return 0, damagedValue(bucketMeta, key, record.ErrParse)
	}
	return binary.BigEndian.Uint64(v), nil
}

// loadDefinitions reads definitions in order of their numbers; a class comes with its first one.
func (s *Store) loadDefinitions(tx *bolt.Tx) error {
	cat := &s.catalogue
	cur := tx.Bucket(bucketDefs).Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		id := uint32(len(*cat.defs.Load()) + 1)
		if len(k) != 4 || binary.BigEndian.Uint32(k) != id {
			return damagedValue(bucketDefs, k, fmt.Errorf("definition %d expected: %w", id, errMissing))
		}
		v, err := openValue(bucketDefs, k, v)
		if err != nil {
			return err
		}
		d, err := decodeDefinition(v)
		if err != nil {
			return damagedValue(bucketDefs, k, err)
		}
		m, err := rra.Compile(d)
		if err != nil {
			return damagedValue(bucketDefs, k, err)
		}
		c := cat.byShape[m.Shape()]
		if c == nil {
			c = newClass(uint32(len(*cat.classes.Load())+1), m, &s.space, &cat.defs)
			if err := c.load(tx); err != nil {
				return err
			}
			cat.addClass(c)
		}
		s.addDefinition(newDefinition(id, m, c), string(v))
	}
	for _, c := range *cat.classes.Load() {
		if n := c.next.Load(); n > 0 {
			s.makeGroup(c, (n-1)>>c.shift)
		}
		for _, g := range *c.groups.Load() {
			g.stored = true // a checkpoint writes groups before the catalogue
		}
	}
	return nil
}

// append codes what a class is beyond its shape: next number, series a group, block and slot of each stream.
func (c *class) append(dst []byte, next uint32) []byte {
	dst = append(dst, 1) // version
	dst = binary.AppendUvarint(dst, uint64(next))
	dst = append(dst, byte(c.shift))
	dst = binary.AppendUvarint(dst, uint64(len(c.streams)))
	for i := range c.streams {
		dst = binary.AppendUvarint(dst, uint64(c.streams[i].Buffer))
		dst = binary.AppendUvarint(dst, uint64(c.streams[i].Slot))
	}
	return record.AppendText(dst, c.shape)
}

// load reads what is stored of c.
func (c *class) load(tx *bolt.Tx) error {
	key := binary.BigEndian.AppendUint32(nil, c.id)
	v, err := getValue(tx, bucketClasses, key)
	if err != nil {
		return err
	}
	if v == nil {
		return damagedValue(bucketClasses, key, errMissing)
	}
	if err := c.decode(v); err != nil {
		return damagedValue(bucketClasses, key, err)
	}
	return nil
}

func (c *class) decode(b []byte) error {
	r := record.Reader{Rest: b}
	if v := r.Byte(); v != 1 {
		return fmt.Errorf("version %d: %w", v, ErrVersion)
	}
	c.next.Store(uint32(r.Uvarint()))
	c.shift = uint(r.Byte())
	n := r.Uvarint()
	if n != uint64(len(c.streams)) || c.shift > groupShift {
		return record.ErrParse
	}
	for i := range c.streams {
		st := &c.streams[i]
		st.Buffer, st.Slot = int64(r.Uvarint()), int64(r.Uvarint())
		if st.Buffer < 1 || st.Buffer > rowblock.MaxBuffer || st.Buffer&(st.Buffer-1) != 0 || st.Slot < st.Buffer || st.Slot%st.Buffer != 0 || st.Slot > rra.MaxRows {
			return record.ErrParse
		}
	}
	if shape := r.Text(); r.Err != nil || shape != c.shape {
		return record.ErrParse
	}
	c.bufRows = 0
	shift := c.shift
	c.layout()
	c.shift = shift
	return nil
}

func recordError(kind string, at uint64) error {
	return fmt.Errorf("%s at log position %d: %w", kind, at, record.ErrParse)
}
