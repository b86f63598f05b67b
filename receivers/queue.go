package receivers

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/rra"
)

const (
	batchSamples = 16384                  // a batch with so many samples is full
	batchValues  = 32768                  // or with so many values
	patience     = 100 * time.Millisecond // how long Add waits, once, before it sheds
	fairRoom     = 1024                   // samples for which SharedQueue.Do waits to have room
	eager        = 2                      // batches in flight from which on another one grows
	queuedNotes  = 256                    // notes that wait; beyond that they are shed
	staleEvery   = time.Second            // how often Stale returns true at most
)

// A Queue stands between the loop that reads a socket and a sink. It holds a bounded number of
// batches. One is being filled; the others are free, or in flight: on their way into the sink, in
// order. The loop is never held up for long: when all batches are in flight, Add waits a tenth of a
// second for one to come back. If none does, samples are shed, and counted as Overload, until one
// does.
//
// Nobody waits for the samples of a Queue. So they are gathered for up to Config.Gather: a commit
// of the log, and waking all who take part in it, costs as much as storing hundreds of values.
//
// One goroutine at a time may call Add, Flush, Stale and Stop: the one that reads.
type Queue struct {
	sink Sink
	c    *Counters
	log  *slog.Logger
	now  func() time.Time

	cur             *core.Batch     // being filled; nil: it is parked, or all are in flight
	curValues       int             // values in cur, or in parked
	samples, values uint64          // added and not counted yet
	shedding        bool            // Add has waited in vain, and no batch has come back since
	stuck           bool            // ready has waited in vain, and no batch has come back since
	patient         context.Context // until its end Add waits for room; nil: it does not wait for long
	free            chan *core.Batch
	made            int              // batches, of cap(free): the others are made when none is free
	work            chan *core.Batch // has room for all batches: sending never blocks
	flying          atomic.Int32     // batches in flight
	notes           chan note        // when it is full, notes are shed
	descriptions    descriptions     // metadata that waits
	stale           atomic.Bool      // references are to be resolved again
	renewal         Renewal          // of the goroutine that submits
	told            time.Time        // when Stale returned true last
	cancel          context.CancelFunc
	running         sync.WaitGroup
	grace           time.Duration
	patience        time.Duration // how long ready waits
	gather          time.Duration // how long samples gather
	failures        loglimit.Limit[string]

	mu     sync.Mutex  // guards what follows, and sending to work by release
	parked *core.Batch // flushed, and left to grow until release hands it over; nil: none is
	due    bool        // the batch has gathered for long enough
	timed  bool        // timer runs
	timer  *time.Timer // calls ripen
}

type note struct {
	key string
	core.Note
}

type submitted struct {
	b *core.Batch
	p Pending
}

// NewQueue returns a Queue into sink that counts in c. Its goroutines run until Stop.
func NewQueue(sink Sink, c *Counters, cfg Config) *Queue {
	cfg = cfg.WithDefaults()
	n := max(cfg.InFlight, 1) + 1 // and the one that is being filled
	q := &Queue{
		sink: sink, c: c, log: cfg.Logger, now: cfg.Now, grace: cfg.Grace, patience: cfg.Patience, gather: cfg.Gather,
		free:  make(chan *core.Batch, n),
		work:  make(chan *core.Batch, n),
		notes: make(chan note, queuedNotes),
		cur:   new(core.Batch), made: 1,
	}
	q.timer = time.AfterFunc(time.Hour, q.ripen)
	q.timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	q.cancel = cancel
	waiting := make(chan submitted, n) // has room for all batches
	q.running.Go(func() { q.submit(ctx, waiting) })
	q.running.Go(func() { q.wait(waiting) })
	q.running.Go(func() { q.keepNotes(ctx) })
	q.descriptions.init()
	q.running.Go(func() { q.keepDescriptions(ctx) })
	return q
}

// Add adds one sample to the batch that is being filled, and reports whether there was room. If
// there was not, the sample is shed and counted.
func (q *Queue) Add(ref core.Ref, at rra.Time, values []rra.Value) bool {
	if q.full(0) && !q.next() {
		q.c.Drop(Overload, 1)
		return false
	}
	q.cur.Add(ref, at, values...)
	q.curValues += len(values)
	q.samples++
	q.values += uint64(len(values))
	return true
}

// full reports whether the batch that is being filled has room for no more than spare samples or
// values.
func (q *Queue) full(spare int) bool {
	if q.cur == nil {
		q.unpark()
	}
	return q.cur == nil || q.cur.Len() >= batchSamples-spare || q.curValues >= batchValues-spare
}

// Flush parks the batch that is being filled. A parked batch grows until it is handed over: once it
// has gathered for long enough, or is full. It goes on growing while two batches are in flight, one
// that is being made durable and its successor. So samples that arrive while the disk is slow go
// into few large batches, and a slow disk does not use up all batches. Flush does not wait.
func (q *Queue) Flush() {
	q.count()
	if q.cur == nil || q.cur.Len() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parked, q.cur = q.cur, nil
	q.release()
}

// unpark makes the parked batch the one that is being filled, unless it was handed over meanwhile.
func (q *Queue) unpark() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cur, q.parked = q.parked, nil
}

// release hands over the parked batch if it is time. The caller holds mu, so that no later batch is
// sent before it.
//
// The time is the next multiple of Config.Gather on the system's clock. So the batches of all
// queues go at the same times, and share a commit.
func (q *Queue) release() {
	switch {
	case q.parked == nil:
	case q.gather > 0 && !q.due:
		if !q.timed {
			q.timed = true
			q.timer.Reset(q.gather - time.Duration(time.Now().UnixNano())%q.gather)
		}
	case int(q.flying.Load()) < min(eager, cap(q.free)-1):
		q.send(q.parked)
		q.parked, q.due = nil, false
	}
}

// ripen notes that the batch has gathered for long enough. If it is being filled, Flush hands it
// over.
func (q *Queue) ripen() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.timed, q.due = false, true
	q.release()
}

func (q *Queue) send(b *core.Batch) {
	q.flying.Add(1)
	q.work <- b
}

// next hands over the batch that is being filled, and begins to fill a free one. It waits for a
// free one as long as patience, once, and in a patient queue again and again. It reports whether
// there was one.
func (q *Queue) next() bool {
	switch {
	case q.exchange(0):
		return true
	case q.patient != nil:
		for q.patient.Err() == nil {
			if q.exchange(patience) {
				return true
			}
		}
	case !q.shedding && q.exchange(patience):
		return true
	}
	if !q.shedding {
		q.shed()
	}
	return false
}

// exchange does what next does if a batch is free, or comes back within d.
func (q *Queue) exchange(d time.Duration) bool {
	q.count()
	if len(q.free) == 0 && q.made < cap(q.free) {
		q.made++
		q.free <- new(core.Batch)
	}
	select {
	case b := <-q.free:
		q.swap(b)
		return true
	default:
	}
	if d == 0 {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case b := <-q.free:
		q.swap(b)
		return true
	case <-t.C:
		return false
	}
}

// shed makes Add shed samples until a batch comes back.
func (q *Queue) shed() {
	q.shedding = true
	q.failures.Log(q.log.Warn, "overload", q.now(), "store does not keep up, samples are shed")
}

// ready waits until there is room for fairRoom samples, even if Add has waited in vain for another
// sender. So the samples of one sender are not shed because of a flood from another. If ready has
// waited in vain, it does not wait again until a batch has come back.
func (q *Queue) ready() {
	if q.patient != nil || q.stuck || !q.full(fairRoom) {
		return
	}
	if !q.exchange(q.patience) {
		q.stuck = true
		q.shed()
	}
}

// swap hands over the batch that is being filled, and begins to fill b.
func (q *Queue) swap(b *core.Batch) {
	if q.cur != nil {
		q.send(q.cur)
	}
	q.cur, q.curValues, q.shedding, q.stuck = b, 0, false, false
}

// count adds the samples since the last count to the counters.
func (q *Queue) count() {
	if q.samples > 0 {
		q.c.Samples.Add(q.samples)
		q.c.Values.Add(q.values)
		q.samples, q.values = 0, 0
	}
}

// Note stores n under key. It does not wait. If too many notes wait, n is shed, counted as
// Overload, and Note returns false.
func (q *Queue) Note(key string, n core.Note) bool {
	select {
	case q.notes <- note{key, n}:
		return true
	default:
		q.c.Drop(Overload, 1)
		return false
	}
}

// Stale reports whether the sink has refused a reference since Stale last returned true, or has
// used one of a replaced series for a while: the caller must resolve all its references again. It
// returns true once a second at most.
func (q *Queue) Stale() bool {
	if !q.stale.Load() {
		return false
	}
	now := q.now()
	if now.Sub(q.told).Abs() < staleEvery {
		return false
	}
	q.told = now
	return q.stale.Swap(false)
}

// Stop hands over all samples, notes and descriptions, waits until they are stored, but no longer
// than Config.Grace, and ends the goroutines.
func (q *Queue) Stop() {
	q.count()
	q.timer.Stop()
	if q.cur == nil {
		q.unpark()
	}
	if q.cur != nil && q.cur.Len() > 0 {
		q.send(q.cur)
	}
	q.cur = nil
	close(q.work)
	close(q.notes)
	close(q.descriptions.wake)
	t := time.AfterFunc(q.grace, q.cancel)
	q.running.Wait()
	t.Stop()
	q.cancel()
}

// submit hands batches to the sink in order.
func (q *Queue) submit(ctx context.Context, waiting chan<- submitted) {
	defer close(waiting)
	for b := range q.work {
		p, err := q.sink.Submit(ctx, b)
		if err != nil {
			q.failed(b, err)
			q.recycle(b)
			continue
		}
		if q.renewal.Due(p, q.now()) {
			q.stale.Store(true)
		}
		waiting <- submitted{b, p}
	}
}

// wait waits for the outcome of each batch and frees the batch.
func (q *Queue) wait(waiting <-chan submitted) {
	for s := range waiting {
		if err := s.p.Wait(); err != nil {
			q.failed(s.b, err)
		}
		q.recycle(s.b)
	}
}

// recycle frees a batch that has come back.
func (q *Queue) recycle(b *core.Batch) {
	b.Reset()
	q.flying.Add(-1)
	q.free <- b
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release()
}

// failed counts the samples of b that were not stored because of err.
func (q *Queue) failed(b *core.Batch, err error) {
	missing, stale := q.c.lose(err, b.Len())
	if missing > 0 {
		q.failures.Log(q.log.Error, "failed", q.now(), "samples not stored", "samples", missing, "err", err)
	}
	if stale {
		q.stale.Store(true)
	}
}

// keepNotes hands notes to the sink until Stop.
func (q *Queue) keepNotes(ctx context.Context) {
	for n := range q.notes {
		if err := q.sink.Note(ctx, n.key, n.Note); err != nil {
			q.c.Drop(FailureReason(err), 1)
			q.failures.Log(q.log.Error, "note", q.now(), "note not stored", "key", n.key, "err", err)
		}
	}
}

// A SharedQueue is a Queue that many goroutines use, one for each connection.
type SharedQueue struct {
	generation atomic.Uint64

	mu   sync.Mutex // guards what follows
	q    *Queue
	done bool
}

// NewSharedQueue returns a SharedQueue into sink that counts in c. Its goroutines run until Stop.
func NewSharedQueue(sink Sink, c *Counters, cfg Config) *SharedQueue {
	return &SharedQueue{q: NewQueue(sink, c, cfg)}
}

// NewPatientQueue is NewSharedQueue for input that can wait, such as a file: Add waits for room,
// and sheds nothing, until ctx has ended for a tenth of a second.
func NewPatientQueue(ctx context.Context, sink Sink, c *Counters, cfg Config) *SharedQueue {
	s := NewSharedQueue(sink, c, cfg)
	s.q.patient = ctx
	return s
}

// Do calls f with the queue, and hands over the samples that f has added. Call it once for all
// samples of one read. Only one f runs at a time; it must not keep the queue.
//
// If the queue has no room, Do first waits for some, but no longer than Config.Patience. Everybody
// who shares the queue waits meanwhile. So the samples of a flood are shed, while the few of
// another connection find room.
func (s *SharedQueue) Do(f func(q *Queue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.refresh()
	s.q.ready()
	f(s.q)
	s.q.Flush()
}

// Generation returns a number that changes when the sink has refused a reference, as Queue.Stale
// reports it. References from an earlier generation must be resolved again.
func (s *SharedQueue) Generation() uint64 {
	if s.q.patient != nil { // reads of a file may be far apart: what was refused since counts now
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refresh()
	}
	return s.generation.Load()
}

func (s *SharedQueue) refresh() {
	if s.q.Stale() {
		s.generation.Add(1)
	}
}

// Stop stops the Queue. Do does nothing afterwards.
func (s *SharedQueue) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.q.Stop()
}
