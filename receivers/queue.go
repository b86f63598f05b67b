package receivers

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/rra"
)

const (
	batchSamples = 16384                  // a batch with so many is handed over
	batchValues  = 32768                  // or with so many values
	patience     = 100 * time.Millisecond // how long Add waits once before it sheds
	// samples that a sender may add that has waited for room among others
	fairRoom    = 1024
	eager       = 2   // batches on their way, with which the next is left to grow
	queuedNotes = 256 // notes that wait; beyond that they are shed
)

// A Queue stands between the loop that reads a socket and a sink. The loop adds samples and
// is never held up for long: a bounded number of batches is on its way into the sink, in
// order; when all are, Add waits a tenth of a second, and from then on sheds, and counts
// what it sheds as Overload, until one comes back.
//
// Add, Flush and Stop are for one goroutine at a time, the one that reads.
type Queue struct {
	sink Sink
	c    *Counters
	log  *slog.Logger
	now  func() time.Time

	cur             *core.Batch // being filled; nil: it is parked, or there is none
	curValues       int
	samples, values uint64 // added and not counted yet
	shedding        bool   // Add has waited in vain and no batch has come back since
	stuck           bool   // so has ready
	free            chan *core.Batch
	work            chan *core.Batch // holds all batches there are: sending never blocks
	flying          atomic.Int32     // batches on their way
	notes           chan note        // when it is full, notes are shed
	texts           texts            // metadata that waits
	stale           atomic.Bool
	cancel          context.CancelFunc
	running         sync.WaitGroup
	grace           time.Duration
	patience        time.Duration // of ready
	failures        loglimit.Limit[string]

	mu     sync.Mutex  // guards what follows
	parked *core.Batch // flushed and left to grow; nil: none
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
	n := max(cfg.InFlight, 1) + 1 // one is being filled
	q := &Queue{
		sink: sink, c: c, log: cfg.Logger, now: cfg.Now, grace: cfg.Grace, patience: cfg.Patience,
		free:  make(chan *core.Batch, n),
		work:  make(chan *core.Batch, n),
		notes: make(chan note, queuedNotes),
	}
	for range n - 1 {
		q.free <- new(core.Batch)
	}
	q.cur = new(core.Batch)
	ctx, cancel := context.WithCancel(context.Background())
	q.cancel = cancel
	waiting := make(chan submitted, n) // holds all batches there are
	q.running.Go(func() { q.submit(ctx, waiting) })
	q.running.Go(func() { q.wait(waiting) })
	q.running.Go(func() { q.keepNotes(ctx) })
	q.texts.init()
	q.running.Go(func() { q.keepTexts(ctx) })
	return q
}

// Add adds one sample to the batch being filled, and reports whether there was room.
func (q *Queue) Add(ref core.Ref, at rra.Time, values []rra.Value) bool {
	if q.full(0) && !q.turn(!q.shedding) {
		q.c.Drop(Overload, 1)
		return false
	}
	q.cur.Add(ref, at, values...)
	q.curValues += len(values)
	q.samples++
	q.values += uint64(len(values))
	return true
}

// Room waits until Add has room, so that it sheds nothing; the error is that of ctx. It is for
// readers of what can wait, such as files.
func (q *Queue) Room(ctx context.Context) error {
	if !q.full(0) {
		return nil
	}
	q.count()
	select {
	case b := <-q.free:
		q.swap(b)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// full reports whether the batch being filled has no room for more than spare samples or values.
func (q *Queue) full(spare int) bool {
	if q.cur == nil {
		q.unpark()
	}
	return q.cur == nil || q.cur.Len() >= batchSamples-spare || q.curValues >= batchValues-spare
}

// Flush hands the batch being filled over without waiting. While two are on their way, one that is
// being made durable and the next to be, it is handed over when one of them comes back, and grows
// until then: what comes while the disk is slow goes into few batches, and a slow disk does not use
// them up.
func (q *Queue) Flush() {
	q.count()
	if q.cur == nil || q.cur.Len() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if int(q.flying.Load()) < min(eager, cap(q.free)-1) {
		q.send(q.cur)
	} else {
		q.parked = q.cur
	}
	q.cur = nil
}

// unpark goes on filling the batch that Flush has left to grow, unless it was handed over.
func (q *Queue) unpark() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cur, q.parked = q.parked, nil
}

// sendParked hands over what Flush has left to grow, when a batch has come back.
func (q *Queue) sendParked() {
	q.mu.Lock() // held until it is sent: the next batch must not go before it
	defer q.mu.Unlock()
	if q.parked != nil && int(q.flying.Load()) < min(eager, cap(q.free)-1) {
		q.send(q.parked)
		q.parked = nil
	}
}

func (q *Queue) send(b *core.Batch) {
	q.flying.Add(1)
	q.work <- b
}

// turn hands the current batch over and takes a free one.
func (q *Queue) turn(wait bool) bool {
	q.count()
	if q.take(0) || wait && q.take(patience) {
		return true
	}
	if wait {
		q.shed()
	}
	return false
}

// take hands the current batch over if a free one comes back within d.
func (q *Queue) take(d time.Duration) bool {
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

// shed has Add shed until a batch comes back.
func (q *Queue) shed() {
	q.shedding = true
	if ok, held := q.failures.Allow("overload", q.now()); ok {
		q.log.Warn("store does not keep up, samples are shed", "held_back_lines", held)
	}
}

// ready waits until there is some room, so that one of several senders is not shed for what the
// others have added, also where Add has waited in vain for one of those. It waits in vain once.
func (q *Queue) ready() {
	if q.stuck || !q.full(fairRoom) {
		return
	}
	q.count()
	if !q.take(q.patience) {
		q.stuck = true
		q.shed()
	}
}

func (q *Queue) swap(b *core.Batch) {
	if q.cur != nil {
		q.send(q.cur)
	}
	q.cur, q.curValues, q.shedding, q.stuck = b, 0, false, false
}

func (q *Queue) count() {
	if q.samples > 0 {
		q.c.Samples.Add(q.samples)
		q.c.Values.Add(q.values)
		q.samples, q.values = 0, 0
	}
}

// Note keeps n under key. It does not wait; a flood is shed.
func (q *Queue) Note(key string, n core.Note) bool {
	select {
	case q.notes <- note{key, n}:
		return true
	default:
		q.c.Drop(Overload, 1)
		return false
	}
}

// Stale reports, once, that the sink has refused a reference: some series was dropped, and
// references that are kept must be resolved again.
func (q *Queue) Stale() bool { return q.stale.Load() && q.stale.Swap(false) }

// Stop hands over what was added, waits until it is stored, for Config.Grace at most, and
// ends the goroutines.
func (q *Queue) Stop() {
	q.count()
	if q.cur == nil {
		q.unpark()
	}
	if q.cur != nil && q.cur.Len() > 0 {
		q.send(q.cur)
	}
	q.cur = nil
	close(q.work)
	close(q.notes)
	close(q.texts.wake)
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
		waiting <- submitted{b, p}
	}
}

// wait takes the outcome of each batch and gives the batch back.
func (q *Queue) wait(waiting <-chan submitted) {
	for s := range waiting {
		if err := s.p.Wait(); err != nil {
			q.failed(s.b, err)
		}
		q.recycle(s.b)
	}
}

func (q *Queue) recycle(b *core.Batch) {
	b.Reset()
	q.flying.Add(-1)
	q.free <- b
	q.sendParked()
}

func (q *Queue) failed(b *core.Batch, err error) {
	var r *core.RejectedError
	if !errors.As(err, &r) {
		q.c.Drop(FailureReason(err), uint64(b.Len()))
		if ok, held := q.failures.Allow("failed", q.now()); ok {
			q.log.Error("samples not stored", "samples", b.Len(), "err", err, "held_back_lines", held)
		}
		return
	}
	q.c.Drop(Late, uint64(r.Late))
	q.c.Drop(State, uint64(r.Other))
	for _, f := range r.First {
		if errors.Is(f.Err, core.ErrNotFound) {
			q.stale.Store(true)
		}
	}
}

func (q *Queue) keepNotes(ctx context.Context) {
	for n := range q.notes {
		if err := q.sink.Note(ctx, n.key, n.Note); err != nil {
			q.c.Drop(Failed, 1)
			if ok, held := q.failures.Allow("note", q.now()); ok {
				q.log.Error("note not stored", "key", n.key, "err", err, "held_back_lines", held)
			}
		}
	}
}
