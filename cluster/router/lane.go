package router

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// A lane is the way of batches to the leader of one partition. When an engine stops leading, the
// batches that it has refused are submitted again to the next leader, in the order in which they
// were submitted first, and before any later one. So are those that an engine has not answered:
// each has a number, so that it is stored once. No batch goes to a leader while another engine
// still has batches: the outcome of those decides what comes first.
type lane struct {
	p       int
	session uint64        // of the numbers of batches
	wait    time.Duration // how long a batch is kept for the next leader
	leader  func(ctx context.Context, p int, until *time.Time) (core.Engine, error)

	mu      sync.Mutex    // guards what follows, and fields of parts
	engine  core.Engine   // has the batches that are on their way
	away    int           // how many these are
	drain   bool          // one has come back: nothing goes out before all have
	seq     uint64        // of the batch that came last
	queue   []*errand     // to be submitted again, in order of seq
	running bool          // a goroutine submits the queue
	pause   time.Duration // before the queue is submitted: it grows while batches come back
}

// An errand is a batch of one partition on its way.
type errand struct {
	lane   *lane
	number core.Number // the zero Number: post gives it one
	Batch  core.Batch  // with references within the partition
	Ticket core.Ticket
	// posted gets the outcome of the submission of an errand that was queued. Its post waits for
	// it. It holds one.
	posted chan error
	// end reports what became of an errand that was submitted, and could not be submitted again.
	end func(err error)

	// What the lane keeps, under its mu.
	engine core.Engine // has the batch, or had it last
	seq    uint64      // its place among the batches of the partition
	until  time.Time   // when to give up; zero: it was not queued yet
	queued bool        // it waits to be submitted again
	told   bool        // it was submitted before: nobody waits for posted
}

// reset readies an errand for another batch.
func (x *errand) reset() {
	x.Batch.Reset()
	x.engine, x.until, x.told = nil, time.Time{}, false
}

// post submits an errand to the leader, for which it waits until a time. When it returns nil, the
// errand's ticket reports what becomes of it.
func (l *lane) post(ctx context.Context, x *errand, until *time.Time) error {
	e, err := l.leader(ctx, l.p, until)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.seq++
	x.seq = l.seq
	if x.number.Session == 0 {
		x.number = core.Number{Session: l.session, N: l.seq}
	}
	if len(l.queue) > 0 || l.running || l.drain || l.away > 0 && l.engine != e {
		l.push(x)
		l.mu.Unlock()
		return l.posted(ctx, x)
	}
	l.give(x, e)
	l.mu.Unlock()
	err = e.Submit(core.WithNumber(ctx, x.number), &x.Batch, &x.Ticket)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	l.away--
	again := elsewhere(err)
	if again {
		l.back(x)
	}
	l.wake()
	l.mu.Unlock()
	if !again {
		return err
	}
	return l.posted(ctx, x)
}

// back puts an errand into the queue that an engine had. The caller holds mu.
func (l *lane) back(x *errand) {
	l.drain = true
	l.pause = min(max(2*l.pause, firstPause), lastPause)
	l.push(x)
}

// give notes that an errand is on its way to an engine. The caller holds mu.
func (l *lane) give(x *errand, e core.Engine) {
	x.engine, l.engine = e, e
	l.away++
}

// posted waits until a queued errand is submitted. If ctx ends before, the errand is taken out of
// the queue.
func (l *lane) posted(ctx context.Context, x *errand) error {
	select {
	case err := <-x.posted:
		return err
	case <-ctx.Done():
	}
	l.mu.Lock()
	queued := x.queued
	if queued {
		l.queue = slices.DeleteFunc(l.queue, func(y *errand) bool { return y == x })
		x.queued = false
	}
	l.mu.Unlock()
	if queued {
		return ctx.Err()
	}
	return <-x.posted
}

// push puts an errand into the queue, in its place. The caller holds mu.
func (l *lane) push(x *errand) {
	if x.until.IsZero() {
		x.until = time.Now().Add(l.wait)
	}
	i, _ := slices.BinarySearchFunc(l.queue, x.seq, func(y *errand, seq uint64) int { return cmp.Compare(y.seq, seq) })
	l.queue = slices.Insert(l.queue, i, x)
	x.queued = true
	l.wake()
}

// wake has the queue submitted, once nothing is on its way. The caller holds mu.
func (l *lane) wake() {
	if l.away > 0 {
		return
	}
	l.drain = false
	if len(l.queue) > 0 && !l.running {
		l.running = true
		go l.run(l.pause)
	}
}

// settled says that an errand which was on its way has come to its end with err. It reports
// whether the errand is submitted again.
func (l *lane) settled(x *errand, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away--
	if elsewhere(err) && (x.until.IsZero() || time.Now().Before(x.until)) {
		x.told = true
		l.back(x)
		return true
	}
	l.pause = 0
	l.wake()
	return false
}

// run submits the queue. It ends when the queue is empty, or when another engine has batches: then
// the last of these wakes the lane again.
func (l *lane) run(wait time.Duration) {
	time.Sleep(wait)
	var last core.Engine
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		x, told, e, err := l.take()
		if x == nil {
			return
		}
		until := x.until
		if err == nil {
			err = e.Submit(core.WithNumber(context.Background(), x.number), &x.Batch, &x.Ticket)
		}
		if err == nil { // x may be another batch's by now, unless its Submit waits
			pause = firstPause
			if !told {
				x.posted <- nil
			}
			continue
		}
		again := elsewhere(err) && time.Now().Before(until) && !closedHere(err, e, last)
		last = e
		l.returned(x, e != nil, again)
		switch {
		case again:
			time.Sleep(pause)
		case told:
			x.end(err)
		default:
			x.posted <- err
		}
	}
}

// take takes the first errand out of the queue, with the engine to which it goes. It waits for a
// leader. unwatched says that nobody waits for the submission of the errand. Without an errand the
// goroutine of run ends.
func (l *lane) take() (x *errand, unwatched bool, e core.Engine, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 {
		x, until := l.queue[0], l.queue[0].until
		l.mu.Unlock()
		e, err := l.leader(context.Background(), l.p, &until)
		l.mu.Lock()
		if err == nil && l.away > 0 && (l.drain || l.engine != e) {
			break
		}
		if len(l.queue) == 0 || l.queue[0] != x {
			continue // its caller has given up, or an earlier one has come back
		}
		l.queue = slices.Delete(l.queue, 0, 1)
		x.queued = false
		if err == nil {
			l.give(x, e)
		}
		return x, x.told, e, err
	}
	l.running = false
	return nil, false, nil, nil
}

// returned says that an engine, if there was one, has not taken an errand. With again the errand
// is queued again.
func (l *lane) returned(x *errand, engine, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if engine {
		l.away--
	}
	if again {
		l.push(x)
	}
	if l.away == 0 {
		l.drain = false
	}
}
