package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Stores that share a log compare what they hold by digests that all of them take at the same
// positions, while they are being written. A *round* covers the whole store once. The leader logs a
// record for each *step* of it. The record changes nothing, and names a part of the store: some
// names of the catalogue, or some series. Every store that applies the record takes the digest of
// that part as it is at this position: see round_take.go. The digest of the round covers all its
// steps, and its position is its last record's.
//
// So no store stands still for a digest. A step is small, and the leader rests between steps. A
// store that meets a round in its midst, or cannot keep up, has no digest of that round.

// A Digested is a digest of everything that a store holds. Stores of one log that have digests at
// the same position hold the same if the sums are equal.
type Digested struct {
	At  wal.Pos // 0: there is no digest
	Sum uint64
}

// The parts of a store that a step may cover.
const (
	partEnd      = 0 // none: the round ends
	partNames    = 1 // paths behind after: references, definitions, labels
	partMetadata = 2 // paths behind after: metadata
	partSeries   = 3 // items
)

const (
	stepVersion = 1
	stepNames   = 256     // paths in a step
	stepValues  = 1 << 20 // values of rows in a step, about
	stepItems   = 64
	stepLeast   = 20 * time.Millisecond // from step to step, unless the round is in haste
)

// A digestStep is what the record of a step says.
type digestStep struct {
	round  uint64 // drawn at random
	number uint64 // from 0 on
	part   byte
	after  string // of partNames and partMetadata: the look-up key to begin behind
	items  []digestItem
}

// A digestItem names rows of some series of one group.
type digestItem struct {
	class, group uint32
	first, n     uint32 // series, by index
	// If rows is not 0: only the rows of one stream from the row from on, 0 being the oldest that
	// is kept.
	stream     uint32
	from, rows uint64
}

// append codes a step as a record.
func (st *digestStep) append(dst []byte) []byte {
	dst = append(dst, record.KindBarrier, stepVersion)
	dst = binary.LittleEndian.AppendUint64(dst, st.round)
	dst = append(binary.AppendUvarint(dst, st.number), st.part)
	switch st.part {
	case partNames, partMetadata:
		return record.AppendText(dst, st.after)
	case partSeries:
		dst = binary.AppendUvarint(dst, uint64(len(st.items)))
		for i := range st.items {
			x := &st.items[i]
			for _, v := range []uint64{uint64(x.class), uint64(x.group), uint64(x.first), uint64(x.n), uint64(x.stream), x.from, x.rows} {
				dst = binary.AppendUvarint(dst, v)
			}
		}
	}
	return dst
}

// readStep decodes what follows the kind of a record that changes nothing. It reports false if the
// record is of no step, or of one that this program does not know.
func readStep(b []byte) (st digestStep, ok bool) {
	r := record.Reader{Rest: b}
	if len(b) == 0 || r.Byte() != stepVersion {
		return st, false
	}
	st.round, st.number, st.part = r.Uint64(), r.Uvarint(), r.Byte()
	switch st.part {
	case partEnd:
	case partNames, partMetadata:
		st.after = r.Text()
	case partSeries:
		n := r.Uvarint()
		if n > stepItems {
			return st, false
		}
		for range n {
			st.items = append(st.items, digestItem{
				class: uint32(r.Uvarint()), group: uint32(r.Uvarint()), first: uint32(r.Uvarint()), n: uint32(r.Uvarint()),
				stream: uint32(r.Uvarint()), from: r.Uvarint(), rows: r.Uvarint(),
			})
		}
	default:
		return st, false
	}
	return st, r.Err == nil && len(r.Rest) == 0
}

// TakeDigest makes the leader, and the stores that follow it, take a digest of all that they hold,
// and returns the leader's. AwaitDigest returns the others'. share is the part of its time that
// TakeDigest may work, above 0 and up to 1: a quarter of a million values take it about 10 ms. One
// call runs at a time. The error wraps ErrNotLeader if the store does not lead.
func (s *Store) TakeDigest(ctx context.Context, share float64) (Digested, error) {
	if !(share > 0 && share <= 1) {
		return Digested{}, invalid("a digest may take %v of the time: between 0 and 1 is possible", share)
	}
	if s.options.Follow == nil {
		return Digested{}, invalid("the store shares its log with no other")
	}
	d := &s.replica.digests
	select {
	case d.taking <- struct{}{}:
	case <-ctx.Done():
		return Digested{}, ctx.Err()
	}
	defer func() { <-d.taking }()
	var b [8]byte
	_, _ = rand.Read(b[:]) // it does not fail
	t := &roundTaker{s: s, share: share, step: digestStep{round: binary.LittleEndian.Uint64(b[:])}}
	at, err := t.take(ctx)
	if err != nil {
		return Digested{}, fmt.Errorf("take a digest: %w", err)
	}
	sum, err := d.at(ctx, at)
	return Digested{at, sum}, err
}

// A roundTaker logs the steps of one round.
type roundTaker struct {
	s      *Store
	share  float64
	step   digestStep
	values int64 // of the items of step
}

// take logs the steps of a round, and returns the position of the last one.
func (t *roundTaker) take(ctx context.Context) (wal.Pos, error) {
	for _, part := range []byte{partNames, partMetadata} {
		for after, more := "", true; more; {
			t.step.part, t.step.after = part, after
			run, err := t.log(ctx)
			if err != nil {
				return 0, err
			}
			after, more = run.after, run.more
		}
	}
	t.step.part, t.step.after = partSeries, ""
	classes := *t.s.catalogue.classes.Load()
	for _, c := range classes {
		if err := t.class(ctx, c); err != nil {
			return 0, err
		}
	}
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	t.step.part = partEnd
	run, err := t.log(ctx)
	if err != nil {
		return 0, err
	}
	return run.pos, nil
}

// class adds the items of a class.
func (t *roundTaker) class(ctx context.Context, c *class) error {
	each := int64(0) // values of a series
	for st := range c.streams {
		each += c.streams[st].Rows * int64(c.sources)
	}
	each = max(each, int64(c.words))
	size := uint32(1) << c.shift
	for number, next := uint32(0), c.next.Load(); number < next; {
		x := digestItem{class: c.id, group: number >> c.shift, first: number & (size - 1)}
		x.n = min(size-x.first, next-number, uint32(max(stepValues/each, 1)))
		number += x.n
		if each <= stepValues {
			if err := t.add(ctx, x, each*int64(x.n)); err != nil {
				return err
			}
			continue
		}
		rows := max(stepValues/uint64(c.sources), 1)
		for st := range c.streams {
			x.stream, x.rows = uint32(st), rows
			for x.from = 0; x.from < uint64(c.streams[st].Rows); x.from += rows {
				if err := t.add(ctx, x, stepValues); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// add adds an item of about so many values to the step at hand, and logs the step if it is full.
func (t *roundTaker) add(ctx context.Context, x digestItem, values int64) error {
	if len(t.step.items) == stepItems || len(t.step.items) > 0 && t.values+values > stepValues {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	t.step.items = append(t.step.items, x)
	t.values += values
	return nil
}

// flush logs the step at hand, if it has items.
func (t *roundTaker) flush(ctx context.Context) error {
	if len(t.step.items) == 0 {
		return nil
	}
	_, err := t.log(ctx)
	t.step.items, t.values = t.step.items[:0], 0
	return err
}

// errRoundEnded says that a round was ended by another one, or by a change of the role.
var errRoundEnded = errors.New("the round of digests was ended by another one, or by a change of the leader")

// log logs the step at hand and waits until its digest is taken. Then it rests.
func (t *roundTaker) log(ctx context.Context) (*digestRun, error) {
	d := &t.s.replica.digests
	rec := t.step.append(nil)
	var run *digestRun
	begun := time.Now()
	err := t.s.change(ctx, rec, func(ticket *Ticket) error {
		run = d.apply(ticket, ticket.pos, rec[1:])
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case run == nil:
		return nil, d.why()
	}
	t.step.number++
	select {
	case <-run.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if run.err != nil {
		return nil, run.err
	}
	if t.step.part == partEnd || t.share == 1 {
		return run, nil
	}
	rest := time.Duration(float64(run.took) * (1/t.share - 1))
	if t.share < 0.5 {
		rest = max(rest, stepLeast-time.Since(begun))
	}
	wait := time.NewTimer(rest)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-t.s.replica.closing:
		return nil, ErrClosed
	}
	return run, nil
}

// AwaitDigest waits until the store has applied position at, where a round of digests has ended,
// and returns the digest that it took there. Only the newest digests are kept. The error is ctx's,
// or says why the store has no digest there.
func (s *Store) AwaitDigest(ctx context.Context, at wal.Pos) (uint64, error) {
	if err := s.WaitFor(ctx, at); err != nil {
		return 0, err
	}
	return s.replica.digests.at(ctx, at)
}

// LastDigest returns the newest digest of a whole round that the store has taken.
func (s *Store) LastDigest() Digested {
	d := &s.replica.digests
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.taken) == 0 {
		return Digested{}
	}
	return d.taken[len(d.taken)-1]
}

// A groupCopy is what a group holds at one position.
type groupCopy struct {
	g    *group // what it is a copy of
	item digestItem
	tx   boltfile.Tx // shows the blocks that the state names
	code []byte      // the state record; nil: the group holds nothing
	rows []*pending.Rows
}

// copyGroups copies the groups of a shard that the step names. The caller holds the shard's mu.
func (run *digestRun) copyGroups(sh *shard) {
	begun := time.Now()
	var copies []*groupCopy
	var failed error
	for _, x := range run.step.items {
		g, err := run.d.s.catalogue.groupAt(x.class, x.group)
		if err != nil || g.shard != sh.id {
			failed = errors.Join(failed, err)
			continue
		}
		c, err := run.d.copyGroup(g, x)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		copies = append(copies, c)
	}
	run.mu.Lock()
	run.copies = append(run.copies, copies...)
	run.took += time.Since(begun)
	if run.err == nil {
		run.err = failed
	}
	run.mu.Unlock()
	if run.left.Add(-1) == 0 {
		// Shards come in no order.
		slices.SortFunc(run.copies, func(a, b *groupCopy) int { return a.item.compare(&b.item) })
		go run.finish()
	}
}

// compare orders items as rounds have them.
func (x *digestItem) compare(y *digestItem) int {
	for _, d := range [][2]uint64{
		{uint64(x.class), uint64(y.class)},
		{uint64(x.group), uint64(y.group)},
		{uint64(x.first), uint64(y.first)},
		{uint64(x.stream), uint64(y.stream)},
		{x.from, y.from},
	} {
		if d[0] != d[1] {
			if d[0] < d[1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// copyGroup copies a group as it is now.
func (d *digests) copyGroup(g *group, x digestItem) (*groupCopy, error) {
	for {
		tx, err := d.s.db.Begin()
		if err != nil {
			return nil, err
		}
		c := &groupCopy{g: g, item: x, tx: tx}
		stale, err := d.copyIn(c)
		if err == nil && !stale {
			return c, nil
		}
		c.tx.End()
		if err != nil {
			return nil, err
		}
	}
}

// copyIn copies a group beside the transaction of c. It reports true if the transaction is older
// than what the group knows of the database.
func (d *digests) copyIn(c *groupCopy) (stale bool, err error) {
	g := c.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dirTx > c.tx.ID() {
		return true, nil
	}
	if !g.loaded && (len(g.deferred) > 0 || g.deferredErr != nil) {
		if err := d.s.loader.loadGroup(g, &c.tx); err != nil {
			return false, err
		}
	}
	if !g.loaded { // the database holds all of it
		return false, d.s.db.Guard(bucketState, func() error {
			c.code = slices.Clone(c.tx.Bucket(bucketState).Get(g.stateKey()))
			return nil
		})
	}
	dir := g.dir
	if g.nextTx != 0 && g.nextTx <= c.tx.ID() {
		dir = g.next
	}
	waiting := g.pend.Bytes()
	for _, p := range g.frozen {
		waiting += p.Bytes()
	}
	if waiting > copyMost {
		return false, fmt.Errorf("%d bytes of rows of one group wait for a checkpoint", waiting)
	}
	for _, p := range append(slices.Clone(g.frozen), &g.pend) {
		c.rows = append(c.rows, p.Copy())
	}
	c.code = endState(g.appendState(nil), dir.Clone(len(g.c.streams)), g.stateKey())
	return false, nil
}

// series takes the digest of a copied group, and ends its transaction.
func (run *digestRun) series(c *groupCopy) error {
	f := &fetcher{s: run.d.s, tx: c.tx, key: make([]byte, 0, rowblock.KeyRoom)}
	defer f.close()
	if c.code == nil {
		return nil
	}
	g := &group{c: c.g.c, id: c.g.id}
	defer g.unload()
	if err := g.decodeState(c.code); err != nil {
		return run.d.s.loader.damagedState(c.g, err)
	}
	g.loaded, g.frozen = true, c.rows
	x := &c.item
	whole := x.rows == 0 || x.stream == 0 && x.from == 0 // the first item of these series
	for i := x.first; i < x.first+x.n; i++ {
		if !g.alive(int(i)) {
			continue
		}
		if err := g.usable(int(i)); err != nil {
			return err
		}
		if whole {
			run.state(g, int(i))
		}
		if err := run.rows(f, g, int(i), x); err != nil {
			return run.d.s.withPath(c.g.ref(int(i)), err)
		}
	}
	if whole && x.first == 0 {
		run.sum.bytes(held.Append(appendTexts(nil, g.texts), g.held))
	}
	return nil
}

// state takes the digest of the state of a series.
func (run *digestRun) state(g *group, i int) {
	run.sum.add(uint64(i))
	run.sum.add(uint64(g.defs[i]))
	for _, w := range g.loadWords(i, nil) {
		run.sum.add(w)
	}
	for j := i * g.c.sources; j < (i+1)*g.c.sources; j++ {
		run.sum.add(g.ctx[j])
		run.sum.add(uint64(g.ctxTag[j]))
	}
}

// rows takes the digest of the rows of a series that an item names.
func (run *digestRun) rows(f *fetcher, g *group, i int, x *digestItem) error {
	d := g.definition(i)
	def := d.m.Definition()
	last := g.lastUpdate(i).Unix()
	for st, stream := range d.m.Streams() {
		if x.rows != 0 && st != int(x.stream) {
			continue
		}
		longest := slices.IndexFunc(stream.Archives, func(a int) bool { return def.Archives[a].Rows == stream.Rows })
		if longest < 0 {
			continue
		}
		span := stream.PDPs * def.Step
		end := rowblock.FloorDiv(last, span)
		from, to := end-stream.Rows, end // rows from+1 to to
		if x.rows != 0 {
			from += int64(min(x.from, uint64(stream.Rows)))
			to = min(to, from+int64(min(x.rows, uint64(stream.Rows))))
		}
		for piece := int64(max(digestRows/len(def.Sources), 1)); from < to; from += piece {
			if err := f.read(g, i, stream.Archives[longest], from*span, min(from+piece, to)*span); err != nil {
				return err
			}
			for k, v := range f.rows.Values {
				if v == v {
					run.sum.add(uint64(from)*uint64(len(def.Sources)) + uint64(k))
					run.sum.add(math.Float64bits(v))
				}
			}
		}
	}
	return nil
}

// A mixer makes one number of many, in their order. It is for numbers that nobody chooses to
// collide. Another mixer needs another stepVersion.
type mixer struct{ h uint64 }

func (m *mixer) add(v uint64) {
	h := m.h ^ v*0x9e3779b97f4a7c15
	m.h = (h<<29|h>>35)*0xbf58476d1ce4e5b9 + 0x94d049bb133111eb
}

func (m *mixer) bytes(b []byte) {
	m.add(uint64(len(b)))
	for len(b) > 0 {
		var v uint64
		n := min(len(b), 8)
		for i := range n {
			v |= uint64(b[i]) << (8 * i)
		}
		m.add(v)
		b = b[n:]
	}
}

func (m *mixer) text(s string) { m.bytes([]byte(s)) }

// value returns the number.
func (m *mixer) value() uint64 {
	h := m.h
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// A step of a round that is of the catalogue covers the first stepNames living paths behind one:
// that must not depend on how much of the catalogue is in the database.

// names takes the digest of some paths, with what the catalogue says of them.
func (run *digestRun) names() error {
	cat := &run.d.s.catalogue
	var passed passedOver
	names, more, err := cat.someNames(nil, cat.nameTable.view(cat), "", run.step.after, stepNames, &passed)
	if err == nil {
		err = passed.err()
	}
	if err != nil {
		return err
	}
	for _, x := range names {
		rec, err := cat.record(x.ref)
		if err != nil {
			return err
		}
		run.sum.text(rec.path)
		run.sum.add(uint64(x.ref))
		run.sum.add(uint64(rec.def))
		run.sum.add(uint64(len(rec.labels)))
		for _, l := range rec.labels {
			run.sum.text(l.Name)
			run.sum.text(l.Value)
		}
	}
	if more {
		run.after, run.more = names[len(names)-1].key, true
	}
	return nil
}

// metadata takes the digest of the metadata of some paths.
func (run *digestRun) metadata() error {
	s := run.d.s
	var passed passedOver
	some, more, err := s.someMetadata(s.metadata.view("", run.step.after), "", run.step.after, stepNames, &passed)
	if err == nil {
		err = passed.err()
	}
	if err != nil {
		return err
	}
	for i := range some {
		run.sum.text(some[i].Path)
		run.sum.bytes(appendMetadata(nil, &some[i].Metadata, false))
	}
	if more {
		run.after, run.more = some[len(some)-1].Path, true
	}
	return nil
}
