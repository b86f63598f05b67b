package core

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// An appender takes records into the log and, once they are durable, to the shards:
//
//	split, code, enqueue ─► log ─► durable ─► dispatch ─► shards ─► acknowledged
//
// A record is coded and enqueued under mu, so that the order of codes is the order of the log.
// Values are coded against the value logged before (see prepareContext), which a record that the
// log refuses takes with it: from then on nothing is coded (stale) until all that is on its way has
// been applied, and the coding contexts follow what is applied.
//
// Lock order: mu, dispatching, a shard's mu, a group's mu. The log is called with mu held. It calls
// durable without waiting for Enqueue, because durable takes mu when the log has failed. queue.mu
// and underway.mu are taken last and alone.
type appender struct {
	s       *Store
	shards  []*shard       // set before the log is open
	running sync.WaitGroup // goroutines of shards

	// mu guards what follows, the coding contexts of all groups, and the order of the log.
	mu     sync.Mutex
	rec    []byte        // the record at hand
	epoch  uint64        // contexts of an earlier epoch must follow what is applied before use
	stale  bool          // coding contexts are ahead of a record that was not logged
	paused chan struct{} // not nil: others than the one who paused wait until it is closed

	numbers  numbers.Table
	queue    queue    // tickets of records on their way to the disk
	underway underway // changes of names, labels and metadata on their way
	// dispatching is held while a delivery goes to the shards: all get deliveries in one order.
	dispatching sync.Mutex

	tickets      sync.Pool
	batches      atomic.Uint64 // records logged since the store was opened
	failures     atomic.Uint64 // writes of the log that failed
	failureLines loglimit.Limit[string]
	seconds      histogram.Histogram // from Submit until a batch was durable and applied
}

func (a *appender) init(s *Store) {
	a.s = s
	a.numbers.Forgotten, a.numbers.Claimed = ErrForgotten, errClaimed
	a.tickets.New = func() any { return new(Ticket) }
}

// ticket returns a ticket for one batch or change. The caller gives it back to tickets after Wait.
func (a *appender) ticket() *Ticket {
	t := a.tickets.Get().(*Ticket)
	a.ready(t)
	return t
}

// ready readies a ticket for another batch or change.
func (a *appender) ready(t *Ticket) { t.reset(&a.seconds) }

// begin splits the batch of t and submits it, unless that was done before.
func (a *appender) begin(t *Ticket) error {
	if again, err := a.numbers.Known(t.number, false); err != nil {
		return err
	} else if again {
		return a.submitAgain(t)
	}
	t.result.keep = t.keep()
	a.split(t, t.batch)
	if t.update && len(t.runs) > 0 {
		t.runs[0].asUpdate(t.batch)
	}
	return a.submit(t)
}

// submitAgain enqueues a record that changes nothing for a change that is known: when it is
// applied, so is the change.
func (a *appender) submitAgain(t *Ticket) error {
	t.again = true
	t.op = &op{rec: barrierRecord, apply: func(*Ticket) {}, all: func(*shard) {}}
	return a.submitOp(t, a.lock)
}

// submit codes the samples of t and enqueues them. If all were refused it acknowledges t.
func (a *appender) submit(t *Ticket) error {
	a.lock()
	defer a.mu.Unlock()
	if err := a.prepareRuns(t); err != nil {
		return err
	}
	a.shards[0].stats.add(&t.result)
	if len(t.runs) == 0 { // nothing is stored, so the number is not used
		t.number = Number{}
		if a.s.admission.shared { // it leads, or knows less than the leader
			return a.enqueue(t, barrierRecord)
		}
		t.complete()
		return nil
	}
	if err := a.numbers.Claim(t.number); err != nil {
		return err
	}
	for i := range t.runs {
		t.runs[i].g.inflight.Add(1)
	}
	a.rec = a.rec[:0]
	if t.number.Session != 0 {
		t.refused = refusedSamples(t.batch, t.result.first)
		a.rec = numbers.Append(a.rec, t.number, t.refused)
	}
	a.rec = appendRuns(a.rec, t.batch, t.runs)
	return a.enqueue(t, a.rec)
}

// submitOp enqueues the record of t's op. lock is lock or lockPaused.
func (a *appender) submitOp(t *Ticket, lock func()) error {
	lock()
	defer a.mu.Unlock()
	return a.enqueueOp(t)
}

// enqueueOp is submitOp for a caller who holds mu.
func (a *appender) enqueueOp(t *Ticket) error {
	if t.again {
		return a.enqueue(t, t.op.rec)
	}
	if err := a.numbers.Claim(t.number); err != nil {
		return err
	}
	rec := t.op.rec
	if t.number.Session != 0 {
		rec = append(numbers.Append(nil, t.number, nil), rec...)
	}
	return a.enqueue(t, rec)
}

// enqueue puts a record into the log and its ticket behind those before it. The caller holds mu.
func (a *appender) enqueue(t *Ticket, rec []byte) error {
	size := int64(len(rec))
	t.size = size
	t.enter(&a.s.calls)
	a.queue.push(t)
	if t.op != nil {
		a.underway.add(t.op.keys, 1)
	}
	if _, err := a.s.log.get().Enqueue(rec); err != nil {
		// No ticket is queued behind this one, and the log will not report it.
		a.queue.unpush()
		t.leave()
		a.recall(t)
		a.stale = true
		return fmt.Errorf("log: %w", a.s.replica.lost(err))
	}
	a.s.admission.addLogged(size) // t may stand for another batch by now
	a.batches.Add(1)
	return nil
}

// durable is called by the log, in order, for records that are durable or have failed.
func (a *appender) durable(first, last wal.Pos, err error) {
	if err != nil {
		a.failed(first, last, err)
		return
	}
	a.dispatching.Lock()
	defer a.dispatching.Unlock()
	d := &delivery{tickets: a.queue.shift(int(last - first + 1)), last: last}
	for i, t := range d.tickets {
		t.pos = first + wal.Pos(i)
	}
	a.s.failpoint("log-durable")
	a.dispatch(d)
}

// failed reports to tickets the records that the log could not keep.
func (a *appender) failed(first, last wal.Pos, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err = a.s.replica.lost(err)
	tickets := a.queue.shift(min(int(last-first+1), a.queue.len()))
	a.drain()
	a.resetContexts()
	a.failures.Add(1)
	// Every write that waits fails: thousands a second.
	if ok, held := a.failureLines.Allow("log", time.Now()); ok {
		a.s.options.Logger.Error("log write failed; appends are refused until it succeeds", "err", err, "held_back_lines", held)
		if a.s.admission.shared && errors.Is(err, wal.ErrFull) {
			a.s.admission.wake() // what is in the database need not stay in the log
		}
	}
	for _, t := range tickets {
		a.recall(t)
		t.err = fmt.Errorf("log: %w", err)
		t.complete()
	}
}

// recall takes back that runs of t are on their way to their groups, and changes of keys, and its
// number: the record was not logged.
func (a *appender) recall(t *Ticket) {
	if t.op != nil {
		a.underway.add(t.op.keys, -1)
	}
	if !t.again {
		a.numbers.Unclaim(t.number)
	}
	for i := range t.runs {
		t.runs[i].g.inflight.Add(-1)
	}
}

// dispatch sends a delivery to the shards. Changes of the catalogue happen here, in log order. The
// caller holds dispatching.
func (a *appender) dispatch(d *delivery) {
	d.masks = make([]uint64, len(d.tickets))
	all := uint64(0)
	for i, t := range d.tickets {
		if !t.again {
			a.numbers.Done(t.number, t.pos, t.refused)
		}
		if t.op != nil {
			t.op.apply(t)
			a.underway.add(t.op.keys, -1)
		}
		mask := t.shards(len(a.shards))
		n := bits.OnesCount64(mask)
		t.left.Store(int32(n))
		d.masks[i] = mask
		all |= mask
		if n == 0 {
			t.complete()
		}
	}
	for _, sh := range a.shards {
		if all>>sh.id&1 == 0 && sh.idle() {
			sh.reached(&a.s.replica, d.last) // it is not woken for what does not concern it
		} else {
			sh.send(d)
		}
	}
}

// drain waits until every shard has applied what was dispatched.
func (a *appender) drain() {
	var wg sync.WaitGroup
	wg.Add(len(a.shards))
	a.dispatching.Lock()
	defer a.dispatching.Unlock()
	for _, sh := range a.shards {
		sh.send(&delivery{wait: &wg})
	}
	wg.Wait()
}

// change logs a record and returns what apply, in log order, makes of it. It changes what is kept
// under keys.
func (s *Store) change(ctx context.Context, rec []byte, apply func(*Ticket) error, keys ...string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.leave()
	if again, err := s.beforeOne(ctx, NumberOf(ctx)); again || err != nil {
		return err
	}
	return s.changeNow(NumberOf(ctx), rec, apply, s.appender.lock, keys...)
}

// barrierRecord is a record that changes nothing.
var barrierRecord = []byte{record.KindBarrier}

// confirm is called before a call that writes is answered without a record, by what the store
// holds. If the log is shared, confirm logs a record that changes nothing. So a store that another
// one has replaced, without knowing it, does not answer by what it does not know. A write
// then returns the same error.
func (s *Store) confirm(ctx context.Context) error {
	if s.options.Follow == nil {
		return nil
	}
	return s.change(WithNumber(ctx, Number{}), barrierRecord, func(*Ticket) error { return nil })
}

// changeNow is change without a wait for room, for a caller that has entered the store. lock takes
// the appender's mu.
func (s *Store) changeNow(n Number, rec []byte, apply func(*Ticket) error, lock func(), keys ...string) error {
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	t.number = n
	var outcome error
	t.op = &op{rec: rec, keys: keys, apply: func(t *Ticket) {
		outcome = apply(t)
		s.refused(t, 0, outcome)
	}}
	if err := s.appender.submitOp(t, lock); err != nil {
		return err
	}
	if err := t.Wait(); err != nil {
		return err
	}
	return outcome
}

// lock takes mu, so that the caller may enqueue. It waits while somebody else has paused the
// appender. While coding contexts are stale it waits until all that is on its way was applied or
// has failed; then the contexts are as applied.
func (a *appender) lock() {
	for {
		a.lockPaused()
		paused := a.paused
		if paused == nil {
			return
		}
		a.mu.Unlock()
		<-paused
	}
}

// lockPaused is lock for the goroutine that has paused the others.
func (a *appender) lockPaused() {
	a.mu.Lock()
	for a.stale {
		if a.queue.len() == 0 {
			a.drain()
			a.resetContexts()
			return
		}
		a.mu.Unlock() // failed takes it
		a.queue.awaitEmpty()
		a.mu.Lock()
	}
}

// resetContexts makes every coding context follow what is applied when it is next used. The caller
// holds mu, and nothing is on its way to the disk or to a shard.
func (a *appender) resetContexts() {
	a.epoch++
	a.stale = false
}

// pause keeps all others from enqueueing until resume, and waits until all that was enqueued before
// was applied or has failed. No lock is held meanwhile.
func (a *appender) pause() {
	a.lock()
	a.paused = make(chan struct{})
	a.mu.Unlock() // failed takes it
	a.queue.awaitEmpty()
	a.drain()
}

// resume ends pause.
func (a *appender) resume() {
	a.mu.Lock()
	close(a.paused)
	a.paused = nil
	a.mu.Unlock()
}

// An underway counts, by look-up key, the changes of names, labels and metadata that are on their
// way: enqueued and not yet applied. While a key has no change on its way and the appender's mu is
// held, the catalogue says of that key what the log says so far.
type underway struct {
	mu   sync.Mutex // guards keys; taken last and alone
	keys map[string]int
}

// add counts n more changes of each key: 1 when they are enqueued, and -1 once they were applied or
// have failed.
func (u *underway) add(keys []string, n int) {
	if len(keys) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.keys == nil {
		u.keys = make(map[string]int)
	}
	for _, k := range keys {
		if u.keys[k] += n; u.keys[k] == 0 {
			delete(u.keys, k)
		}
	}
}

// any reports whether a change of one of the keys is on its way.
func (u *underway) any(keys ...string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(keys, func(k string) bool { return u.keys[k] > 0 })
}
