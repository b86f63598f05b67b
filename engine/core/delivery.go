package core

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// A delivery is what became durable at once, on its way to every shard.
type delivery struct {
	tickets []*Ticket
	// masks has a bit for each shard that the ticket of the same index is for. The other shards
	// must not look at that ticket: it may be acknowledged and in use again.
	masks   []uint64
	records []rawRecord // of a replay: records of samples, in buf
	buf     []byte
	// replayed says that the records come from the log. Once one of those could not be applied,
	// none behind it is.
	replayed bool
	last     wal.Pos         // of all records in it; 0: none
	wait     *sync.WaitGroup // not nil: signalled when a shard has applied the delivery
}

// A rawRecord is a record of samples in a delivery's buf, from byte from to byte to.
type rawRecord struct {
	pos      wal.Pos
	from, to uint32
	number   *numbers.Numbered // nil: it has none, or one that the table had
}

// shards returns a bit for each of the n shards that have to apply t.
func (t *Ticket) shards(n int) (mask uint64) {
	for i := range t.runs {
		mask |= 1 << t.runs[i].g.shard
	}
	if t.op == nil {
		return mask
	}
	if t.op.all != nil {
		return 1<<n - 1
	}
	for _, d := range t.op.do {
		mask |= 1 << d.g.shard
	}
	return mask
}

// run applies deliveries until the channel is closed.
func (sh *shard) run(s *Store) {
	for d := range sh.work {
		for i := range d.records {
			if s.loader.failure.Load() != nil {
				break
			}
			r := &d.records[i]
			if err := s.applyRecord(sh, r.pos, r.number, d.buf[r.from:r.to]); err != nil {
				s.loader.failed(err)
				s.replica.failed()
				break
			}
		}
		for i, t := range d.tickets {
			if d.masks[i]>>sh.id&1 != 0 {
				sh.apply(s, t)
			}
		}
		if d.last != 0 && !(d.replayed && s.loader.failure.Load() != nil) {
			sh.reached(&s.replica, d.last)
		}
		sh.done.Add(1)
		if d.wait != nil {
			d.wait.Done()
		}
	}
}

// reached notes that everything up to p is applied.
func (sh *shard) reached(r *replica, p wal.Pos) {
	sh.applied.Store(uint64(p))
	if r.waiting.Load() != 0 {
		r.move()
	}
}

// send hands a delivery to the shard. The caller holds the appender's dispatching.
func (sh *shard) send(d *delivery) {
	sh.sent++
	sh.work <- d
}

// idle reports whether the shard has nothing to do, and stays so while the appender's dispatching
// is held.
func (sh *shard) idle() bool { return sh.done.Load() == sh.sent }

// apply does this shard's part of t. The last shard to do so acknowledges t.
func (sh *shard) apply(s *Store, t *Ticket) {
	o := outcome{keep: t.keep()}
	sh.mu.Lock()
	for i := range t.runs {
		r := &t.runs[i]
		if r.g.shard != sh.id {
			continue
		}
		s.applyLive(sh, t, r, &o)
	}
	if t.op != nil {
		for i := range t.op.do {
			d := &t.op.do[i]
			if d.g.shard != sh.id {
				continue
			}
			s.applyGroupOp(sh, t.pos, d, &o)
		}
		if t.op.all != nil {
			t.op.all(sh)
		}
	}
	sh.mu.Unlock()
	s.failpoint("record-applied")
	sh.stats.add(&o)
	if t.number.Session != 0 && t.batch != nil {
		s.appender.numbers.Refuse(t.number, refusedSamples(t.batch, o.first)...)
	}
	t.mu.Lock()
	t.result.merge(&o)
	t.mu.Unlock()
	if t.left.Add(-1) == 0 {
		if t.again && t.batch != nil {
			t.outcomeBefore(&s.appender.numbers)
		}
		t.complete()
	}
}

// applyLive applies one run of a batch that this process appends, whose values are at hand.
func (s *Store) applyLive(sh *shard, t *Ticket, r *run, o *outcome) {
	g := r.g
	defer g.inflight.Add(-1)
	if err := sh.lockGroup(&s.loader, g); err != nil {
		for i := r.from; i < r.to; i++ {
			o.reject(int(i), err)
		}
		return
	}
	defer g.mu.Unlock()
	g.used = true
	if at := int64(t.batch.samples[r.to-1].at); at > sh.stats.newest.Load() {
		sh.stats.newest.Store(at)
	}
	index := sh.indices(g, t.batch.samples[r.from:r.to], r.dense)
	if g.c.seasonal || r.command {
		for i := range index {
			g.follow(index[i:i+1], t.batch.stretch(int(r.from)+i, 1))
		}
		sh.applyCommand(g, t.batch, r.from, r.to, r.flags, o)
	} else {
		st := t.batch.stretch(int(r.from), len(index))
		g.follow(index, st)
		sh.applySamples(g, st, index, o)
	}
	g.changed(t.pos)
}

// applyGroupOp applies to one group what a record that is not samples does to it.
func (s *Store) applyGroupOp(sh *shard, pos wal.Pos, d *groupOp, o *outcome) {
	defer s.catalogue.arriving.Add(-int32(d.arrives))
	if err := sh.lockGroup(&s.loader, d.g); err != nil {
		o.reject(0, err)
		return
	}
	defer d.g.mu.Unlock()
	if d.g.seen(pos) {
		return
	}
	d.fn(sh, d.g)
	d.g.changed(pos)
}

// applyRecord applies what a logged record of samples, with a number or nil, holds for the groups
// of shard sh.
func (s *Store) applyRecord(sh *shard, pos wal.Pos, n *numbers.Numbered, rec []byte) error {
	sh.mu.Lock() // a snapshot must not see a part of the record
	defer sh.mu.Unlock()
	return s.eachRun(pos, rec, func(g *group, h runHeader) error {
		if g.shard != sh.id {
			return nil
		}
		return s.applyRun(sh, g, pos, n, h)
	})
}

// eachRun calls fn with the runs of a logged record of samples and their groups.
func (s *Store) eachRun(pos wal.Pos, rec []byte, fn func(g *group, h runHeader) error) error {
	var h runHeader
	for r := (record.Reader{Rest: rec[1:]}); len(r.Rest) > 0; {
		if h = readRun(&r, h.at); r.Err != nil {
			return recordError("samples", uint64(pos))
		}
		if s.options.salvage.lostGroup(groupID{Class: h.class, Number: h.group}) {
			continue
		}
		g, err := s.catalogue.groupAt(h.class, h.group)
		if err != nil {
			return fmt.Errorf("log position %d: %w", pos, err)
		}
		if err := fn(g, h); err != nil {
			return err
		}
	}
	return nil
}

// applyRun applies one decoded run, unless the group has already seen it. It passes over a damaged
// group: the log does not reach back far enough to make the state anew, and other series must not
// wait for a repair.
func (s *Store) applyRun(sh *shard, g *group, pos wal.Pos, n *numbers.Numbered, h runHeader) error {
	if err := sh.lockGroup(&s.loader, g); errors.Is(err, ErrDamaged) {
		return nil // that is logged and counted already
	} else if err != nil {
		return err
	}
	defer g.mu.Unlock()
	g.used = true
	return sh.applyBody(sh, g, pos, n, h)
}
