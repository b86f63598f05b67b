package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A batch is coded and put into the log under logMu, so that the order of codes
// is the order of the log. When the log says it is durable, it goes to the
// shards of its groups, and is acknowledged when the last of them has applied it.

// A Ticket stands for a batch on its way. It is used again after Wait.
type Ticket struct {
	s      *Store
	batch  *Batch
	runs   []run
	cmd    *command  // an update command; nil: plain samples
	began  time.Time // when the batch came; zero: this is none
	op     *op       // a change of the catalogue; nil: samples
	pos    wal.Pos
	size   int64        // of the record
	left   atomic.Int32 // shards that have not applied it
	done   chan struct{}
	out    bool       // Wait has to be called
	mu     sync.Mutex // guards result
	result outcome
	err    error
}

// An op is a record that is not samples: what it does to groups, by shard.
type op struct {
	rec   []byte
	keys  []string      // whose names, labels or metadata it changes: see underway
	apply func(*Ticket) // in log order, once durable; fills do and all
	do    []groupOp
	all   func(*shard) // for every shard
}

type groupOp struct {
	g  *group
	fn func(sh *shard, g *group)
	// arrives is the series that is in the group then, also if it was before; 0: none.
	arrives Ref
}

// A commit is what became durable at once, on its way to every shard.
type commit struct {
	tickets []*Ticket
	// masks says which shards a ticket is for. The others must not look at it: it may be
	// acknowledged and in use again.
	masks   []uint64
	records []rawRecord // replay: records of samples, in buf
	buf     []byte
	last    wal.Pos
	wait    *sync.WaitGroup // replay: told when a shard is through
}

func (t *Ticket) reset(s *Store) {
	t.s, t.batch, t.cmd, t.op, t.err, t.began = s, nil, nil, nil, nil, time.Time{}
	t.runs = t.runs[:0]
	t.result = outcome{first: t.result.first[:0]}
	t.out = true
	if t.done == nil {
		t.done = make(chan struct{}, 1)
	}
}

// errUnused is Wait's error where no Submit has succeeded since the last Wait.
var errUnused = errors.New("the ticket stands for no batch")

// Wait returns when the batch is durable and applied, with Append's error. A ticket may be used again after it. It is an
// error to wait for a ticket that Submit has not returned, or twice.
func (t *Ticket) Wait() error {
	if !t.out {
		return errUnused
	}
	<-t.done
	t.out = false
	if t.err != nil {
		return t.err
	}
	return t.result.error()
}

// Append logs and applies b, and returns once it is durable and applied. Samples that cannot be stored (late, of the wrong
// shape, of no series, with a text that is too long) are reported as *RejectedError; the rest are stored.
// A batch that fails as a whole fails with another error, and nothing of it is stored.
// If ctx has ended before the batch is in the queue of the log, Append returns ctx's error and stores nothing. From there on
// it waits for the disk, whatever becomes of ctx, and its answer is what became of the batch.
func (s *Store) Append(ctx context.Context, b *Batch) error {
	t := s.tickets.Get().(*Ticket)
	defer s.tickets.Put(t)
	if err := s.Submit(ctx, b, t); err != nil {
		return err
	}
	err := t.Wait()
	if rejected, ok := errors.AsType[*RejectedError](err); ok {
		s.nameRejected(rejected, b)
	}
	return err
}

// nameRejected has the errors of rejected samples name their series.
func (s *Store) nameRejected(e *RejectedError, b *Batch) {
	if s.enter() != nil {
		return
	}
	defer s.leave()
	for i := range e.First {
		r := &e.First[i]
		ref := b.samples[r.Index].ref
		path := s.recordOr(ref).path
		switch damage, _ := errors.AsType[*DamageError](r.Err); {
		case damage != nil && damage.Series != "": // it names the series
		case path != "":
			r.Err = fmt.Errorf("%.200q: %w", path, r.Err)
		case errors.Is(r.Err, ErrNotFound):
			r.Err = notFound(ref)
		default:
			r.Err = fmt.Errorf("ref %d: %w", ref, r.Err)
		}
	}
}

// Submit starts what Append does. After it t's Wait must be called, and b must not be touched until that has returned;
// after an error there is nothing to wait for.
func (s *Store) Submit(ctx context.Context, b *Batch, t *Ticket) error {
	keep, began := b.keep(), time.Now()
	if err := s.begin(ctx); err != nil {
		return err
	}
	t.reset(s)
	t.began = began
	t.result.keep = keep
	s.split(t, b)
	err := s.submit(t, b)
	if err != nil {
		t.out = false
		s.leave()
	}
	return err
}

// submit codes the samples of t and enqueues them. If none is left it acknowledges t.
func (s *Store) submit(t *Ticket, b *Batch) error {
	s.lockLog()
	defer s.logMu.Unlock()
	t.batch = b
	if err := s.prepareRuns(t); err != nil {
		return err
	}
	s.shards[0].stats.add(&t.result)
	if len(t.runs) == 0 {
		t.complete()
		return nil
	}
	for i := range t.runs {
		t.runs[i].g.inflight.Add(1)
	}
	if t.cmd == nil {
		s.rec = s.appendRuns(s.rec[:0], t.batch, t.runs)
	} else {
		s.rec = s.appendUpdate(s.rec[:0], t)
	}
	return s.enqueue(t, s.rec)
}

// appendUpdate codes the samples of t, all of one series, as one update command.
func (s *Store) appendUpdate(dst []byte, t *Ticket) []byte {
	g, b := t.runs[0].g, t.batch
	samples := b.samples[:t.runs[0].to]
	dst = append(dst, record.KindSamples)
	dst = binary.AppendUvarint(dst, uint64(g.c.id)<<2|runCommand)
	dst = binary.AppendUvarint(dst, uint64(g.id))
	dst = record.AppendTime(dst, b.samples[0].at, 0)
	at := len(dst)
	dst = append(dst, 0, 0, 0)
	dst = s.appendCommand(dst, g, b, samples, t.cmd.flags)
	putLength(dst[at:])
	return dst
}

// enqueue puts a record into the log and its ticket behind those before it. The caller holds logMu.
func (s *Store) enqueue(t *Ticket, rec []byte) error {
	t.size = int64(len(rec))
	s.queueMu.Lock()
	s.queue = append(s.queue, t)
	s.queued.Add(t.size)
	s.queueMu.Unlock()
	if t.op != nil {
		s.underway.add(t.op.keys)
	}
	if _, err := s.log.Enqueue(rec); err != nil {
		// Nothing can have been queued behind it, and the log does not know it. Its codes
		// have moved the contexts on: they must follow what is applied again.
		s.queueMu.Lock()
		s.queue = s.queue[:len(s.queue)-1]
		s.dequeued(t.size)
		s.queueMu.Unlock()
		s.encoderStale = true
		if t.op != nil {
			s.underway.done(t.op.keys)
		}
		for i := range t.runs {
			t.runs[i].g.inflight.Add(-1)
		}
		return fmt.Errorf("log: %w", err)
	}
	s.admission.addLogged(int64(len(rec)))
	s.batches.Add(1)
	return nil
}

// durable is called by the log, in order, for records that are durable or have failed.
func (s *Store) durable(first, last wal.Pos, err error) {
	if err != nil {
		s.failed(first, last, err)
		return
	}
	n := int(last - first + 1)
	s.dispatchMu.Lock()
	defer s.dispatchMu.Unlock()
	s.queueMu.Lock()
	c := &commit{tickets: append([]*Ticket(nil), s.queue[:n]...), last: last}
	s.dequeue(n)
	s.queueMu.Unlock()
	for i, t := range c.tickets {
		t.pos = first + wal.Pos(i)
	}
	s.failpoint("log-durable")
	s.dispatch(c)
}

// dequeue takes the first n tickets from the queue. The caller holds queueMu.
func (s *Store) dequeue(n int) {
	size := int64(0)
	for _, t := range s.queue[:n] {
		size += t.size
	}
	s.queue = append(s.queue[:0], s.queue[n:]...)
	s.dequeued(size)
}

// dequeued lets those go on who wait for the queue. The caller holds queueMu.
func (s *Store) dequeued(size int64) {
	left := s.queued.Add(-size)
	if len(s.queue) == 0 {
		s.queueEmpty.Broadcast()
	}
	if left <= maxQueued/2 && s.queueRoom != nil {
		close(s.queueRoom)
		s.queueRoom = nil
	}
}

// maxQueued is how many bytes of records may be on their way to the disk before writers wait. The
// log would hold them back too, but there nobody can give up.
const maxQueued = 8 << 20

// awaitQueue waits until the queue has room.
func (s *Store) awaitQueue(ctx context.Context) error {
	for s.queued.Load() > maxQueued {
		s.queueMu.Lock()
		if s.queued.Load() <= maxQueued {
			s.queueMu.Unlock()
			return nil
		}
		if s.queueRoom == nil {
			s.queueRoom = make(chan struct{})
		}
		room := s.queueRoom
		s.queueMu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// failed gives the tickets of records that the log could not keep their error.
func (s *Store) failed(first, last wal.Pos, err error) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.queueMu.Lock()
	n := min(int(last-first+1), len(s.queue))
	failed := append([]*Ticket(nil), s.queue[:n]...)
	s.dequeue(n)
	s.queueMu.Unlock()
	s.drain()
	s.resetEncoders()
	s.logFailures.Add(1)
	if ok, held := s.failureLines.Allow("log", time.Now()); ok { // each write that waits fails, thousands a second
		s.options.Logger.Error("log write failed; appends are refused until it succeeds", "err", err, "held_back_lines", held)
	}
	for _, t := range failed {
		for i := range t.runs {
			t.runs[i].g.inflight.Add(-1)
		}
		if t.op != nil {
			s.underway.done(t.op.keys)
		}
		t.err = fmt.Errorf("log: %w", err)
		t.complete()
	}
}

// drain waits until every shard has applied what was dispatched.
func (s *Store) drain() {
	var wg sync.WaitGroup
	wg.Add(len(s.shards))
	s.dispatchMu.Lock()
	defer s.dispatchMu.Unlock()
	for _, sh := range s.shards {
		sh.work <- &commit{wait: &wg}
	}
	wg.Wait()
}

// resetEncoders makes every coding context follow what is applied, when it is next used. The
// caller holds logMu, and nothing is on its way to the disk or to a shard.
func (s *Store) resetEncoders() {
	s.encoderEpoch++
	s.encoderStale = false
}

// lockLog takes logMu. While contexts are ahead of a record that was not logged nothing can be coded:
// what is on its way is awaited, applied or failed, and the contexts follow what is applied.
func (s *Store) lockLog() {
	for {
		s.lockLogAnyway()
		paused := s.paused
		if paused == nil {
			return
		}
		s.logMu.Unlock()
		<-paused
	}
}

// lockLogAnyway is lockLog for whoever has paused the others.
func (s *Store) lockLogAnyway() {
	s.logMu.Lock()
	for s.encoderStale {
		s.queueMu.Lock()
		n := len(s.queue)
		s.queueMu.Unlock()
		if n == 0 {
			s.drain()
			s.resetEncoders()
			return
		}
		s.logMu.Unlock() // failed takes it
		s.queueMu.Lock()
		for len(s.queue) > 0 {
			s.queueEmpty.Wait()
		}
		s.queueMu.Unlock()
		s.logMu.Lock()
	}
}

// dispatch sends a commit to the shards. Changes of the catalogue happen here, in order.
func (s *Store) dispatch(c *commit) {
	c.masks = make([]uint64, len(c.tickets))
	for i, t := range c.tickets {
		if t.op != nil {
			t.op.apply(t)
			s.underway.done(t.op.keys)
		}
		var mask uint64
		for i := range t.runs {
			mask |= 1 << t.runs[i].g.shard
		}
		if t.op != nil {
			for _, d := range t.op.do {
				mask |= 1 << d.g.shard
			}
			if t.op.all != nil {
				mask = 1<<len(s.shards) - 1
			}
		}
		n := bits.OnesCount64(mask)
		t.left.Store(int32(n))
		c.masks[i] = mask
		if n == 0 {
			t.complete()
		}
	}
	for _, sh := range s.shards {
		sh.work <- c
	}
}

// complete acknowledges t.
func (t *Ticket) complete() {
	if !t.began.IsZero() && t.err == nil {
		t.s.appends.Observe(time.Since(t.began))
	}
	t.s.leave()
	t.done <- struct{}{}
}

// run applies commits until the channel is closed.
func (sh *shard) run(s *Store) {
	for c := range sh.work {
		for i := range c.records {
			r := &c.records[i]
			if err := s.applyRecord(sh, r.pos, c.buf[r.from:r.to]); err != nil {
				s.replayError(err)
				break
			}
		}
		for i, t := range c.tickets {
			if c.masks[i]>>sh.id&1 != 0 {
				sh.apply(s, t)
			}
		}
		if c.last != 0 {
			sh.applied.Store(uint64(c.last))
		}
		if c.wait != nil {
			c.wait.Done()
		}
	}
}

// apply does this shard's part of t.
func (sh *shard) apply(s *Store, t *Ticket) {
	o := outcome{keep: keptRejections}
	if t.batch != nil {
		o.keep = t.batch.keep()
	}
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
	if t.left.Load() == 1 { // no other shard touches it any more
		t.result.merge(&o)
	} else {
		t.mu.Lock()
		t.result.merge(&o)
		t.mu.Unlock()
	}
	if t.left.Add(-1) == 0 {
		t.complete()
	}
}

// applyLive applies one run of a batch whose values are at hand.
func (s *Store) applyLive(sh *shard, t *Ticket, r *run, o *outcome) {
	g := r.g
	defer g.inflight.Add(-1)
	if err := s.lockGroup(g); err != nil {
		for i := r.from; i < r.to; i++ {
			o.reject(int(i), err)
		}
		return
	}
	defer g.mu.Unlock()
	g.used = true
	g.follow(t.batch, r.from, r.to)
	sh.newest = max(sh.newest, t.batch.samples[r.to-1].at)
	switch {
	case t.cmd != nil:
		sh.applyCommand(g, t.batch, r.from, r.to, *t.cmd, o)
	case g.c.seasonal || r.command:
		sh.applyCommand(g, t.batch, r.from, r.to, command{flags: r.flags()}, o)
	default:
		sh.applySamples(g, t.batch, r.from, r.to, o)
	}
	g.changed(t.pos)
}

// applyGroupOp applies what a record that is not samples does to one group.
func (s *Store) applyGroupOp(sh *shard, pos wal.Pos, d *groupOp, o *outcome) {
	if d.arrives != 0 {
		defer s.catalogue.arrived(d.arrives)
	}
	if err := s.lockGroup(d.g); err != nil {
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

// Update applies b, all of one series, as one update command, as rrdtool's update does: samples
// in turn, the first refused one stops it. Update returns how many samples were applied and, with
// trace, the rows that each of them closed.
func (s *Store) Update(ctx context.Context, ref Ref, b *Batch, trace bool) (n int, rows [][]rra.Run, err error) {
	for i := range b.samples {
		if b.samples[i].ref != ref {
			return 0, nil, errors.New("an update command is for one series")
		}
	}
	keep, began := b.keep(), time.Now()
	if err := s.begin(ctx); err != nil {
		return 0, nil, err
	}
	if len(b.samples) == 0 {
		s.leave()
		return 0, nil, nil
	}
	t := s.tickets.Get().(*Ticket)
	defer s.tickets.Put(t)
	t.reset(s)
	t.began = began
	t.result.keep = keep
	t.batch = b
	t.cmd = &command{}
	if b.SkipPast {
		t.cmd.flags |= commandSkipLate
	}
	if b.Stopped {
		t.cmd.flags |= commandStopped
	}
	if trace {
		t.cmd.trace = func(runs []rra.Run) { rows = append(rows, append([]rra.Run(nil), runs...)) }
	}
	s.splitCommand(t, b)
	if err = s.submit(t, b); err != nil {
		t.out = false
		s.leave()
		return 0, nil, err
	}
	err = t.Wait()
	return t.result.accepted, rows, err
}
