package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Stores that share a log compare what they hold by digests that all of them take at the same
// positions, while they are being written. A *round* covers the whole store once. The leader logs a
// record for each *step* of it. The record changes nothing, and names a part of the store: some
// names of the catalogue, or the states of some series. Every store that applies the record takes
// the digest of that part as it is at this position. The digest of the round covers all its steps,
// and its position is its last record's.
//
// A step is small, and the leader rests between steps. A store that meets a round in its midst has
// no digest of that round. Rows in the database do not count: they have checksums of their own.

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
	partSeries   = 3 // the states of n groups of a class, from first on
)

const (
	stepVersion = 2
	stepNames   = 256                   // paths in a step
	stepSeries  = 1 << 13               // series in a step, or one group
	stepLeast   = 20 * time.Millisecond // from step to step, unless the round is in haste
)

// A digestStep is what the record of a step says.
type digestStep struct {
	round  uint64 // drawn at random
	number uint64 // from 0 on
	part   byte
	after  string // of partNames and partMetadata: the look-up key to begin behind

	class, first, n uint32 // of partSeries
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
		for _, v := range []uint32{st.class, st.first, st.n} {
			dst = binary.AppendUvarint(dst, uint64(v))
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
		st.class, st.first, st.n = uint32(r.Uvarint()), uint32(r.Uvarint()), uint32(r.Uvarint())
		if st.n > stepSeries {
			return st, false
		}
	default:
		return st, false
	}
	return st, r.Err == nil && len(r.Rest) == 0
}

// TakeDigest makes the leader, and the stores that follow it, take a digest of all that they hold,
// and returns the leader's. AwaitDigest returns the others'. share is the part of its time that
// TakeDigest may work, above 0 and up to 1. One call runs at a time. The error wraps ErrNotLeader
// if the store does not lead.
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
	sum, err := d.at(at)
	return Digested{at, sum}, err
}

// A roundTaker logs the steps of one round.
type roundTaker struct {
	s     *Store
	share float64
	step  digestStep
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
	t.step.part = partEnd
	run, err := t.log(ctx)
	if err != nil {
		return 0, err
	}
	return run.pos, nil
}

// class logs the steps of a class.
func (t *roundTaker) class(ctx context.Context, c *class) error {
	groups := (c.next.Load() + 1<<c.shift - 1) >> c.shift
	t.step.class, t.step.n = c.id, max(uint32(stepSeries)>>c.shift, 1)
	for t.step.first = 0; t.step.first < groups; t.step.first += t.step.n {
		t.step.n = min(t.step.n, groups-t.step.first)
		if _, err := t.log(ctx); err != nil {
			return err
		}
	}
	return nil
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
	return s.replica.digests.at(at)
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

// groups takes the digest of the groups of a shard that the step names. The caller holds the
// shard's mu.
func (run *digestRun) groups(sh *shard) {
	begun := time.Now()
	var failed error
	for i := range run.sums {
		g, err := run.d.s.catalogue.groupAt(run.step.class, run.step.first+uint32(i))
		if err == nil && g.shard == sh.id {
			run.sums[i], err = run.d.group(g)
		}
		failed = errors.Join(failed, err)
	}
	run.mu.Lock()
	run.took += time.Since(begun)
	if run.err == nil {
		run.err = failed
	}
	run.left--
	ended := run.left == 0
	run.mu.Unlock()
	if ended { // the next step meets this shard later
		for _, sum := range run.sums {
			run.sum.add(sum)
		}
		run.d.end(run)
	}
}

// group returns the digest of the states of a group; 0 if it has no series.
func (d *digests) group(g *group) (uint64, error) {
	code, err := d.stateOf(g)
	if code == nil || err != nil {
		return 0, err
	}
	x := &group{c: g.c, id: g.id}
	defer x.unload()
	if err := x.decodeState(code); err != nil {
		return 0, d.s.loader.damagedState(g, err)
	}
	var sum mixer
	some := false
	for i := range x.n {
		if !x.alive(i) {
			continue
		}
		some = true
		if err := x.usable(i); err != nil {
			return 0, err
		}
		sum.state(x, i)
	}
	if !some {
		return 0, nil
	}
	sum.bytes(held.Append(appendTexts(nil, x.texts), x.held))
	return sum.value(), nil
}

// stateOf returns the state record of a group as it is now; nil: it holds nothing.
func (d *digests) stateOf(g *group) ([]byte, error) {
	for {
		tx, err := d.s.db.Begin()
		if err != nil {
			return nil, err
		}
		code, stale, err := d.stateIn(g, &tx)
		tx.End()
		if err != nil || !stale {
			return code, err
		}
	}
}

// stateIn is stateOf beside a transaction. It reports true if the transaction is older than what
// the group knows of the database.
func (d *digests) stateIn(g *group, tx *boltfile.Tx) (code []byte, stale bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dirTx > tx.ID() {
		return nil, true, nil
	}
	if !g.loaded && (len(g.deferred) > 0 || g.deferredErr != nil) {
		if err := d.s.loader.loadGroup(g, tx); err != nil {
			return nil, false, err
		}
	}
	if g.loaded {
		return endState(g.appendState(nil), g.dir.Clone(len(g.c.streams)), g.stateKey()), false, nil
	}
	err = d.s.db.Guard(bucketState, func() error { // it holds all of the group
		code = slices.Clone(tx.Bucket(bucketState).Get(g.stateKey()))
		return nil
	})
	return code, false, err
}

// state adds the state of a series.
func (m *mixer) state(g *group, i int) {
	m.add(uint64(i))
	m.add(uint64(g.defs[i]))
	for _, w := range g.loadWords(i, nil) {
		m.add(w)
	}
	for j := i * g.c.sources; j < (i+1)*g.c.sources; j++ {
		m.add(g.ctx[j])
		m.add(uint64(g.ctxTag[j]))
	}
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
