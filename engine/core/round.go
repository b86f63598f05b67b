package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Stores that share a log compare what they hold by digests that all of them take at the same
// positions, while they are being written. A *round* covers the whole store once. The leader logs a
// record for each *step* of it. The record changes nothing, and names a part of the store: some
// names of the catalogue, or some series. Every store that applies the record takes the digest of
// that part as it is at this position: see round_take.go. The digest of the round is that of all
// its steps, and its position is that of its last record.
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
// and returns the leader's. AwaitDigest returns those of the others. share is the part of its time
// that TakeDigest may work, above 0 and up to 1: a quarter of a million values take it about 10 ms.
// One call runs at a time. The error wraps ErrNotLeader if the store does not lead.
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
