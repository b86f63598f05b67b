package core

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A Ticket stands for a batch that is on its way into the store. After Wait it may be used for
// another batch.
type Ticket struct {
	calls   *calls               // counts the ticket while it is on its way; nil: it is not
	seconds *histogram.Histogram // how long batches take

	batch  *Batch
	runs   []run
	update bool // the batch is one update command
	op     *op  // a change of the catalogue; nil: samples
	// The number of the change, what was refused before it was logged, and whether it was made
	// before with that number.
	number  Number
	refused []numbers.Refusal
	again   bool
	began   time.Time // when the batch came; zero: the ticket's time is not counted
	size    int64     // of the record, in bytes
	pos     wal.Pos   // of the record, once it is durable

	left    atomic.Int32  // shards that have not applied the record
	done    chan struct{} // gets a message when the ticket is complete; holds one
	pending bool          // Wait has to be called
	notify  func()        // called when the ticket is complete; nil: nobody wants to know
	err     error         // why nothing was stored

	mu     sync.Mutex // guards result while several shards apply the record; taken alone
	result outcome
}

// An op is what a record that is not samples does.
type op struct {
	rec   []byte
	keys  []string      // look-up keys of what the record changes: see underway
	apply func(*Ticket) // called in log order, once the record is durable; fills do and all
	do    []groupOp
	all   func(*shard) // called for every shard
}

// A groupOp is what a record does to one group.
type groupOp struct {
	g  *group
	fn func(sh *shard, g *group)
	// arrives is how many series of the catalogue the group holds from then on.
	arrives int
}

// reset readies t for another batch.
func (t *Ticket) reset(seconds *histogram.Histogram) {
	t.seconds = seconds
	t.batch, t.update, t.op, t.err, t.began = nil, false, nil, nil, time.Time{}
	t.number, t.refused, t.again = Number{}, nil, false
	t.runs = t.runs[:0]
	t.pos = 0
	t.result = outcome{first: t.result.first[:0]}
	t.pending = true
	if t.done == nil {
		t.done = make(chan struct{}, 1)
	}
}

// errUnused is Wait's error where no Submit has succeeded since the last Wait.
var errUnused = errors.New("the ticket stands for no batch")

// Wait waits until the batch is durable and applied, and returns what Append would return. Then t
// may be used again. Wait returns an error at once if Submit has not returned t since the last
// Wait.
func (t *Ticket) Wait() error {
	if !t.pending {
		return errUnused
	}
	<-t.done
	t.pending = false
	if t.err != nil {
		return t.err
	}
	return t.result.error(t.batch)
}

// keep returns how many refused samples are named: with a number all, since their outcome is kept.
func (t *Ticket) keep() int {
	if t.number.Session != 0 && t.batch != nil {
		return len(t.batch.samples)
	}
	return t.batch.keep()
}

// Pos returns the position of the batch in the log, once Wait has returned: every store of the same
// log whose Position is at or above it has applied the batch. It is 0 if nothing was logged.
func (t *Ticket) Pos() wal.Pos { return t.pos }

// At says which position the batch has in the log. An Engine other than a Store may call it between
// Begin and Complete.
func (t *Ticket) At(p wal.Pos) { t.pos = p }

// Done reports whether Wait returns at once.
func (t *Ticket) Done() bool { return !t.pending || len(t.done) > 0 }

// Notify has done called when a batch that is submitted with t from now on is Done. It is for
// callers who wait for other things too. done must neither block nor call the store.
func (t *Ticket) Notify(done func()) { t.notify = done }

// Begin readies t for a batch that an Engine other than a Store has taken. That engine calls it in
// its Submit, and Complete when the batch has come to its end. If Submit fails after Begin, it
// calls Complete with the error, and Wait.
func (t *Ticket) Begin() { t.reset(nil) }

// Complete ends what Begin has begun. err is what Wait returns: a *RejectedError with the indices
// of the batch that the caller of Submit knows, another error if nothing was stored, or nil.
// Complete is called once for each Begin, by any goroutine. Whoever calls it does not use t or the
// batch any more.
func (t *Ticket) Complete(err error) {
	t.err = err
	t.complete()
}

// enter counts t as a call until leave.
func (t *Ticket) enter(c *calls) {
	c.enterAgain()
	t.calls = c
}

// leave ends what enter began, if anything.
func (t *Ticket) leave() {
	if t.calls != nil {
		t.calls.leave()
		t.calls = nil
	}
}

// complete acknowledges t.
func (t *Ticket) complete() {
	if !t.began.IsZero() && t.err == nil {
		t.seconds.Observe(time.Since(t.began))
	}
	t.leave()
	notify := t.notify // the next line gives t away
	t.done <- struct{}{}
	if notify != nil {
		notify()
	}
}

// outcomeBefore gives the ticket of samples that were submitted before the outcome that they had.
// Of several samples of one series and time the last ones were refused.
func (t *Ticket) outcomeBefore(x *numbers.Table) {
	refused, err := x.Outcome(t.number)
	if t.err = err; err != nil {
		return
	}
	type key struct {
		ref Ref
		at  rra.Time
	}
	why := make(map[key][]numbers.Refusal, len(refused))
	for _, y := range refused {
		k := key{Ref(y.Ref), y.At}
		why[k] = append(why[k], y)
	}
	all := t.batch.samples
	t.result.accepted, t.result.keep = len(all), len(all)
	for i := len(all) - 1; i >= 0; i-- {
		k := key{all[i].ref, all[i].at}
		list := why[k]
		if len(list) == 0 {
			continue
		}
		t.result.reject(i, asRefused(&list[len(list)-1]))
		why[k] = list[:len(list)-1]
		t.result.accepted--
		for j := i + 1; j < len(all) && all[j].more; j++ {
			t.result.accepted-- // what follows in the command was not looked at
		}
	}
}

// maxQueued is how many bytes of records may be on their way to the disk before writers wait. The
// log would hold them back too, but a writer that waits in the log cannot give up.
const maxQueued = 8 << 20

// A queue holds the tickets of the records that are in the log and not yet durable, in the order of
// the log.
type queue struct {
	bytes atomic.Int64 // of the records; changed under mu

	mu      sync.Mutex // guards what follows; taken last and alone
	tickets []*Ticket
	// closed when tickets is empty, or half of maxQueued is free; nil: nobody waits
	fewer chan struct{}
}

// push adds a ticket at the end.
func (q *queue) push(t *Ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tickets = append(q.tickets, t)
	q.bytes.Add(t.size)
}

// unpush removes the ticket that push added last.
func (q *queue) unpush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.tickets) - 1
	size := q.tickets[n].size
	q.tickets = q.tickets[:n]
	q.removed(size)
}

// shift removes the first n tickets and returns them.
func (q *queue) shift(n int) []*Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := append([]*Ticket(nil), q.tickets[:n]...)
	size := int64(0)
	for _, t := range first {
		size += t.size
	}
	q.tickets = append(q.tickets[:0], q.tickets[n:]...)
	q.removed(size)
	return first
}

// removed wakes those who wait that tickets were removed. The caller holds mu.
func (q *queue) removed(size int64) {
	left := q.bytes.Add(-size)
	if (len(q.tickets) == 0 || left <= maxQueued/2) && q.fewer != nil {
		close(q.fewer)
		q.fewer = nil
	}
}

// len returns how many records are on their way to the disk.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.tickets)
}

// awaitEmpty waits until no record is on its way to the disk.
func (q *queue) awaitEmpty() {
	empty := func() bool { return len(q.tickets) == 0 }
	_ = q.await(context.Background(), empty) // the context does not end
}

// awaitRoom waits until the queue has room. The error is ctx's.
func (q *queue) awaitRoom(ctx context.Context) error {
	if q.bytes.Load() <= maxQueued {
		return nil
	}
	return q.await(ctx, func() bool { return q.bytes.Load() <= maxQueued })
}

// await waits until there are so few tickets that done, which is called with mu held, returns true.
// The error is ctx's.
func (q *queue) await(ctx context.Context, done func() bool) error {
	for {
		q.mu.Lock()
		if done() {
			q.mu.Unlock()
			return nil
		}
		if q.fewer == nil {
			q.fewer = make(chan struct{})
		}
		fewer := q.fewer
		q.mu.Unlock()
		select {
		case <-fewer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// An outcome counts what became of the samples of one batch.
type outcome struct {
	accepted, late, other int
	// late samples that a command passes over: its caller gets no error
	skipped int
	first   []Rejection // the first refused samples
	keep    int         // how many of them to keep
}

// keptRejections is how many refused samples an error names unless the batch asks for more.
const keptRejections = 16

// reject counts the sample at an index of the batch as refused with err.
func (o *outcome) reject(index int, err error) {
	if _, late := errors.AsType[*rra.TimeError](err); late {
		o.late++
	} else {
		o.other++
	}
	r := Rejection{index, err}
	if len(o.first) < o.keep || o.keep > 0 && r.Gone() && !slices.ContainsFunc(o.first, Rejection.Gone) {
		o.first = append(o.first, r)
	}
}

// merge adds the outcome of another shard's part of the batch.
func (o *outcome) merge(p *outcome) {
	o.accepted += p.accepted
	o.late += p.late
	o.other += p.other
	o.skipped += p.skipped
	o.keep = p.keep
	o.first = append(o.first, p.first...)
}

// error returns nil if every sample of b was accepted or skipped, or a *RejectedError. b may be
// nil.
func (o *outcome) error(b *Batch) error {
	if o.late+o.other == 0 {
		return nil
	}
	return &RejectedError{Accepted: o.accepted, Late: o.late, Other: o.other, First: slices.Clone(FirstRejections(o.first, b.keep()))}
}

// A shardStats counts the samples of one shard since the store was opened.
type shardStats struct {
	accepted, late, other atomic.Uint64
	newest                atomic.Int64 // rra.Time of the newest sample since the store was opened
}

func (st *shardStats) add(o *outcome) {
	st.accepted.Add(uint64(o.accepted))
	st.late.Add(uint64(o.late + o.skipped))
	st.other.Add(uint64(o.other))
}
