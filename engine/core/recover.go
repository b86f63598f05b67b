package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// Recovery is replay. It begins with the catalogue as the last checkpoint left it. Then it applies
// every record of the log behind the position of the catalogue, with the functions that append
// uses. Records of samples go to all shards as they are: each shard decodes the runs of its own
// groups, and skips runs that the state of a group already includes. Changes of the catalogue are
// applied here, in order. A store that is opened for one command defers the samples: see deferRun.

const replayChunk = 64 << 10 // bytes of records handed to the shards at a time

// replay applies the log behind the catalogue's position.
func (s *Store) replay() error {
	from := s.catalogue.pos + 1
	log := s.log.get()
	if first := log.First(); from < first && first != 0 {
		return fmt.Errorf("%w: the store holds the log up to %d, the log begins at %d", wal.ErrHole, from-1, first)
	}
	r := &replayer{s: s, c: &delivery{}, lazy: s.options.NoBackground || s.options.ReadOnly}
	err := log.Replay(from, func(p wal.Pos, rec []byte) error {
		s.replayedRecords.Add(1)
		s.checkpoints.replayed.Add(int64(len(rec)))
		return r.record(p, rec)
	})
	if err != nil {
		return err
	}
	r.flush()
	r.wait.Wait()
	if e := s.loader.failure.Load(); e != nil {
		return *e
	}
	for _, sh := range s.appender.shards {
		sh.applied.Store(uint64(log.Last()))
	}
	return nil
}

// A replayer gathers records for the shards.
type replayer struct {
	s    *Store
	c    *delivery
	wait sync.WaitGroup

	lazy     bool // samples are deferred until their group is loaded
	deferred int  // bytes of deferred records
}

// record takes the record at p. It changes the catalogue at once. Samples go to the shards with
// others, by flush at the latest.
func (r *replayer) record(p wal.Pos, rec []byte) error {
	s := r.s
	n, rec, err := numbers.Cut(rec)
	if err != nil {
		return recordError("number", uint64(p))
	}
	if len(rec) == 0 {
		return recordError("empty", uint64(p))
	}
	if r.lazy && r.deferred > deferredMost {
		if err := s.loader.applyAllDeferred(); err != nil {
			return err
		}
		r.lazy = false
	}
	if rec[0] == record.KindSamples && r.lazy {
		return r.deferRuns(p, s.appender.numbers.Replayed(n, p), rec)
	}
	if rec[0] == record.KindSamples {
		c := r.c
		from := len(c.buf)
		c.buf = append(c.buf, rec...)
		c.records = append(c.records, rawRecord{p, uint32(from), uint32(len(c.buf)), s.appender.numbers.Replayed(n, p)})
		c.last = p
		if len(c.buf) >= replayChunk {
			r.flush()
		}
		return nil
	}
	r.flush()
	s.appender.dispatching.Lock()
	defer s.appender.dispatching.Unlock()
	c, err := r.change(p, n, rec)
	if err != nil {
		return err
	}
	if r.lazy {
		for _, t := range c.tickets {
			for _, sh := range s.appender.shards { // which are idle
				sh.apply(s, t)
			}
		}
		return nil
	}
	r.send(c)
	return nil
}

// change applies a record that is not samples to the catalogue, and returns what it does to groups.
// If it returns an error, the delivery, which may be nil, must not count as applied.
func (r *replayer) change(p wal.Pos, n *numbers.Numbered, rec []byte) (*delivery, error) {
	s := r.s
	t := new(Ticket)
	s.appender.ready(t)
	t.op = &op{}
	if n = s.appender.numbers.Replayed(n, p); n != nil {
		t.number = n.Number
	}
	if err := s.replayOp(t, p, bytes.Clone(rec)); err != nil {
		return nil, err
	}
	c := &delivery{last: p, replayed: true}
	if t.op.apply != nil {
		t.pos = p
		t.op.apply(t)
		c.tickets, c.masks = []*Ticket{t}, []uint64{math.MaxUint64}
		t.left.Store(int32(len(s.appender.shards)) + 1) // nobody waits for it
	}
	if e := s.loader.failure.Load(); e != nil {
		return c, *e
	}
	return c, nil
}

// deferRuns leaves the runs of a record of samples with their groups.
func (r *replayer) deferRuns(p wal.Pos, n *numbers.Numbered, rec []byte) error {
	r.deferred += len(rec)
	return r.s.eachRun(p, bytes.Clone(rec), func(g *group, h runHeader) error {
		return r.s.loader.deferRun(g, deferredRun{p, n, h, r.s.appender.shards[g.shard].reorder})
	})
}

// flush sends the samples that were gathered. The next delivery is about as large.
func (r *replayer) flush() {
	if len(r.c.records) == 0 {
		return
	}
	r.c.replayed = true
	r.s.appender.dispatching.Lock()
	defer r.s.appender.dispatching.Unlock()
	r.send(r.c)
	r.c = &delivery{buf: make([]byte, 0, len(r.c.buf)*9/8), records: make([]rawRecord, 0, len(r.c.records)*9/8)}
}

// send sends a delivery to the shards. The caller holds dispatching.
func (r *replayer) send(c *delivery) {
	c.wait = &r.wait
	r.wait.Add(len(r.s.appender.shards))
	for _, sh := range r.s.appender.shards {
		sh.send(c)
	}
}

// replayOp sets the op of t to the effect of a record that is not samples.
func (s *Store) replayOp(t *Ticket, p wal.Pos, rec []byte) error {
	r := record.Reader{Rest: rec[1:]}
	known := p <= s.catalogue.checkpointed()
	met := func(err error) {
		s.replayMet(p, err)
		s.refused(t, 0, err)
	}
	switch rec[0] {
	case record.KindCreate:
		plan, err := s.catalogue.replayCreate(&r)
		if err != nil {
			return fmt.Errorf("log position %d: %w", p, err)
		}
		out := make([]Created, len(plan))
		t.op.apply = func(t *Ticket) {
			s.catalogue.count.Add(int64(len(plan)))
			s.applyCreate(t, plan, 0, out)
			for i := range out {
				s.replayMet(p, out[i].Err)
			}
		}
	case record.KindDrop:
		key, only := r.Text(), Ref(r.Uvarint())
		t.op.apply = func(t *Ticket) { met(s.applyDrop(t, key, only)) }
	case record.KindRename:
		from, to := r.Text(), r.Text()
		var m *Metadata
		if len(r.Rest) > 0 {
			moved, _ := readMetadata(&r)
			m = &moved
		}
		t.op.apply = func(t *Ticket) { met(s.applyRename(t, from, to, m)) }
	case record.KindNote:
		key, n := r.Text(), readNote(&r)
		t.op.apply = func(t *Ticket) { s.notes.add(key, n, p) }
	case record.KindRelabel:
		key, labels := r.Text(), readLabels(&r)
		t.op.apply = func(t *Ticket) { met(s.applyRelabel(t, key, labels)) }
	case record.KindMetadata:
		ms := readMetadataRecord(&r)
		t.op.apply = func(*Ticket) {
			if err := s.applyMetadata(ms, s.findMetadata(ms)); err != nil {
				s.loader.failed(fmt.Errorf("log position %d: %w", p, err))
			}
		}
	case record.KindSettings:
		window := r.Time(0)
		t.op.apply = func(t *Ticket) { s.applySettings(t, window) }
	case record.KindBarrier:
		t.op.apply = func(t *Ticket) { s.replica.digests.begin(t, rec[1:]) }
	default:
		return fmt.Errorf("log position %d: record of kind %d, which this program does not know: %w", p, rec[0], ErrNewer)
	}
	if known {
		t.op.apply = nil
	}
	return wholeRecord(&r, p, rec[0])
}

// wholeRecord refuses a record that was not read, or not to its end.
func wholeRecord(r *record.Reader, p wal.Pos, kind byte) error {
	if r.Err != nil {
		return recordError("catalogue", uint64(p))
	}
	// What is left may change what the record means, but for one that changes nothing.
	if len(r.Rest) > 0 && kind != record.KindBarrier {
		return fmt.Errorf("log position %d: record of kind %d has more than this program knows of: %w", p, kind, ErrNewer)
	}
	return nil
}

// replayMet takes the error of a change that is replayed. The caller of the change got it, unless
// the error is damage: then it is not known what the change did, and the replay fails.
func (s *Store) replayMet(p wal.Pos, err error) {
	if errors.Is(err, ErrDamaged) {
		s.loader.failed(fmt.Errorf("log position %d: %w", p, err))
	}
}

// loadCatalogue reads what the catalogue keeps in memory: classes, definitions, and the position
// that no log record to come may have.
func (s *Store) loadCatalogue() (after wal.Pos, err error) {
	cat := &s.catalogue
	cat.init(s, len(s.appender.shards))
	err = s.db.View(nil, func(tx *boltfile.Tx) error {
		if err := s.loadMark(tx); err != nil {
			return err
		}
		if _, err := readStoreID(tx); err != nil {
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
		for _, sh := range s.appender.shards {
			sh.reorder = rra.Time(numbers[3])
		}
		if err := s.catalogue.loadDefinitions(tx); err != nil {
			return err
		}
		if err := s.metadata.load(tx); err != nil {
			return err
		}
		v, err := tx.Get(bucketMeta, metaSessions)
		if err == nil && s.appender.numbers.Load(v) != nil {
			err = damage.InValue(bucketMeta, metaSessions, record.ErrParse)
		}
		if err != nil {
			return err
		}
		s.notes.load(s, tx)
		return nil
	})
	return after, err
}

// metaNumber returns a number of the bucket meta, which are always there.
func metaNumber(tx *boltfile.Tx, key []byte) (uint64, error) {
	v, err := metaValue(tx, key, 8)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(v), nil
}

// metaValue returns a value of the bucket meta that is always there, and always of n bytes.
func metaValue(tx *boltfile.Tx, key []byte, n int) ([]byte, error) {
	v, err := tx.Get(bucketMeta, key)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, damage.InValue(bucketMeta, key, damage.ErrMissing)
	case len(v) != n:
		return nil, damage.InValue(bucketMeta, key, record.ErrParse)
	}
	return v, nil
}

// A store that is opened for one command needs the state of one group, or of no group at all. In
// such a store replay defers the samples: it leaves each run, still coded, with its group, and the
// group applies its runs when it is loaded. A command then costs the same however many groups the
// log names. Changes of the catalogue are never deferred: replay applies them at once, in order,
// and loads the groups that they change.

// deferredMost is how many bytes of records may be deferred. A longer log is replayed by all shards
// at once.
const deferredMost = 2 << 20

// deferRun leaves a run with its group. A group that is loaded applies it at once.
func (l *loader) deferRun(g *group, r deferredRun) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.loaded {
		return l.applyDeferred(g, []deferredRun{r})
	}
	if len(g.deferred) == 0 {
		l.deferred.Add(1)
	}
	g.deferred = append(g.deferred, r)
	return nil
}

// applyAllDeferred makes every group apply its deferred runs. Damaged groups are passed over.
func (l *loader) applyAllDeferred() error {
	if l.deferred.Load() == 0 {
		return nil
	}
	for _, c := range *l.s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			g.mu.Lock()
			waits := len(g.deferred) > 0
			g.mu.Unlock()
			if !waits {
				continue
			}
			if err := l.lockGroup(g); errors.Is(err, ErrDamaged) {
				continue
			} else if err != nil {
				return err
			}
			g.mu.Unlock()
		}
	}
	return nil
}
