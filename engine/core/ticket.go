package core

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/wal"
)

// A Ticket stands for a batch that is on its way into the store. After Wait it may be used for
// another batch.
type Ticket struct {
	calls   *calls               // the ticket is a call until it is complete; nil: of another Engine
	seconds *histogram.Histogram // how long batches take

	batch *Batch
	runs  []run
	cmd   *command  // an update command; nil: plain samples
	op    *op       // a change of the catalogue; nil: samples
	began time.Time // when the batch came; zero: the ticket's time is not counted
	size  int64     // of the record, in bytes
	pos   wal.Pos   // of the record, once it is durable

	left    atomic.Int32  // shards that have not applied the record
	done    chan struct{} // gets a message when the ticket is complete; holds one
	pending bool          // Wait has to be called
	told    func()        // called when the ticket is complete; nil: nobody wants to know
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
	// arrives is the series that the group holds afterwards, whether or not it held them before.
	arrives []Ref
}

// reset readies t for another batch.
func (t *Ticket) reset(c *calls, seconds *histogram.Histogram) {
	t.calls, t.seconds = c, seconds
	t.batch, t.cmd, t.op, t.err, t.began = nil, nil, nil, nil, time.Time{}
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
	return t.result.error()
}

// Pos returns the position of the batch in the log, once Wait has returned: every store of the same
// log whose Position is at or above it has applied the batch. It is 0 if nothing was logged.
func (t *Ticket) Pos() wal.Pos { return t.pos }

// At says which position the batch has in the log. An Engine other than a Store may call it between
// Begin and Complete.
func (t *Ticket) At(p wal.Pos) { t.pos = p }

// Done reports whether Wait returns at once.
func (t *Ticket) Done() bool { return !t.pending || len(t.done) > 0 }

// Tell has told called when a batch that is submitted with t from now on is Done. It is for callers
// who wait for other things too. told must neither block nor call the store.
func (t *Ticket) Tell(told func()) { t.told = told }

// Begin readies t for a batch that an Engine other than a Store has taken. That engine calls it in
// its Submit, and Complete when the batch has come to its end. If Submit fails after Begin, it
// calls Complete with the error, and Wait.
func (t *Ticket) Begin() { t.reset(nil, nil) }

// Complete ends what Begin has begun. err is what Wait returns: a *RejectedError with the indices
// of the batch that the caller of Submit knows, another error if nothing was stored, or nil.
// Complete is called once for each Begin, by any goroutine. Whoever calls it does not use t or the
// batch any more.
func (t *Ticket) Complete(err error) {
	t.err = err
	t.complete()
}

// complete acknowledges t.
func (t *Ticket) complete() {
	if !t.began.IsZero() && t.err == nil {
		t.seconds.Observe(time.Since(t.began))
	}
	if t.calls != nil {
		t.calls.leave()
	}
	told := t.told // the next line gives t away
	t.done <- struct{}{}
	if told != nil {
		told()
	}
}

// recall takes back that runs of t are on their way to their groups: the record was not logged.
func (t *Ticket) recall() {
	for i := range t.runs {
		t.runs[i].g.inflight.Add(-1)
	}
}
