package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// The digest of a step is taken in two parts. At the position of the record, the goroutine of the
// shard makes a copy of the state of each group that the step names, and of its rows that wait for
// a checkpoint, and begins a transaction: that takes as long as a snapshot for a checkpoint. A
// goroutine beside the shards then reads the rows of that copy, and ends the transaction. Names are
// read at once, a few hundred at a time.

const (
	runsMost   = 4                      // steps whose digest is not taken yet
	runsWait   = 500 * time.Millisecond // for which a follower waits until there are fewer
	takenMost  = 8                      // digests that are kept
	copyMost   = 64 << 20               // bytes of coded rows of one group that wait for a checkpoint
	digestRows = 1 << 16                // values that are read at once
)

// A digests takes part in rounds.
type digests struct {
	s      *Store
	taking chan struct{} // held by TakeDigest; holds one

	mu      sync.Mutex    // guards what follows; taken last and alone
	off     bool          // records are applied that are no news
	round   uint64        // at hand; 0: none
	next    uint64        // the number of its next step
	sum     mixer         // of its steps so far
	void    error         // why there is no digest of it
	runs    int           // steps whose digest is not taken yet
	last    chan struct{} // closed when the newest one's is taken; nil: there was none
	changed chan struct{} // closed when runs falls
	taken   []Digested    // the newest ones, in their order
	voided  error         // why the newest round that has ended has no digest
}

func (d *digests) init(s *Store) {
	d.s, d.taking, d.changed = s, make(chan struct{}, 1), make(chan struct{})
}

// A digestRun takes the digest of one step.
type digestRun struct {
	d      *digests
	step   digestStep
	pos    wal.Pos
	before <-chan struct{} // closed when the digest of the step before is taken; nil: there is none
	done   chan struct{}   // closed when this one is taken

	left   atomic.Int32 // shards that have yet to copy their groups
	mu     sync.Mutex   // guards copies while shards copy, and err
	copies []*groupCopy

	// Of partNames and partMetadata: where the next step begins, and whether there is one.
	after string
	more  bool

	sum  mixer
	err  error
	took time.Duration
}

// errJoined says that a round began before the store could take part.
var errJoined = errors.New("the store was opened, or began to follow, in the midst of the round")

// apply takes part in the step of a record at pos, in the order of the log. It returns nil if the
// record is of no step, or if the store does not take part. It sets what t does to every shard.
func (d *digests) apply(t *Ticket, pos wal.Pos, body []byte) *digestRun {
	if d.s.options.Follow == nil {
		return nil
	}
	st, ok := readStep(body)
	if !ok {
		return nil
	}
	d.awaitRoom()
	run := d.begin(&st, pos)
	switch {
	case run == nil:
	case st.part == partSeries:
		run.left.Store(int32(len(d.s.appender.shards)))
		t.op.all = run.copyGroups
	default:
		begun := time.Now()
		switch st.part {
		case partNames:
			run.err = run.names()
		case partMetadata:
			run.err = run.metadata()
		}
		run.took = time.Since(begun)
		go run.finish()
	}
	return run
}

// begin returns the run of a step, or nil if the store does not take part.
func (d *digests) begin(st *digestStep, pos wal.Pos) *digestRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	if st.number == 0 && !d.off {
		d.round, d.next, d.sum, d.void = st.round, 0, mixer{}, nil
	}
	switch {
	case d.off || st.round != d.round || st.number != d.next:
		d.round, d.void = 0, errJoined
	case d.runs >= runsMost:
		d.void = fmt.Errorf("the store cannot keep up: %d steps of the round wait", d.runs)
	}
	d.next++
	if d.void != nil {
		if st.part == partEnd {
			d.voided = d.void
		}
		return nil
	}
	run := &digestRun{d: d, step: *st, pos: pos, before: d.last, done: make(chan struct{})}
	d.runs++
	d.last = run.done
	return run
}

// awaitRoom lets a follower wait until it has fewer steps to do. A leader waits between steps.
func (d *digests) awaitRoom() {
	if !d.s.following() {
		return
	}
	end := time.NewTimer(runsWait)
	defer end.Stop()
	for {
		d.mu.Lock()
		full, changed := d.runs >= runsMost && d.void == nil, d.changed
		d.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-changed:
		case <-end.C:
			return
		case <-d.s.replica.closing:
			return
		}
	}
}

// why returns why the store takes no part in the round at hand.
func (d *digests) why() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.void != nil && d.void != errJoined {
		return d.void
	}
	return errRoundEnded
}

// turn switches rounds off, while records are applied that are no news, and on again.
func (d *digests) turn(off bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = off
	if off {
		d.round, d.void = 0, errJoined
	}
}

// at returns the digest of the round that ended at pos, which the store has applied.
func (d *digests) at(ctx context.Context, pos wal.Pos) (uint64, error) {
	for {
		d.mu.Lock()
		runs, changed, voided := d.runs, d.changed, d.voided
		i := slices.IndexFunc(d.taken, func(x Digested) bool { return x.At == pos })
		sum := uint64(0)
		if i >= 0 {
			sum = d.taken[i].Sum
		}
		d.mu.Unlock()
		switch {
		case i >= 0:
			return sum, nil
		case runs == 0 && voided != nil:
			return 0, fmt.Errorf("no digest at log position %d: %w", pos, voided)
		case runs == 0:
			return 0, fmt.Errorf("no digest at log position %d: the store took no part in a round that ended there", pos)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// end takes in the outcome of a run.
func (d *digests) end(run *digestRun) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs--
	close(d.changed)
	d.changed = make(chan struct{})
	close(run.done)
	if run.step.round != d.round {
		return
	}
	if run.err != nil && d.void == nil {
		d.void = run.err
	}
	d.sum.add(run.sum.value())
	if run.step.part != partEnd {
		return
	}
	if d.voided = d.void; d.void == nil {
		d.taken = append(d.taken[max(0, len(d.taken)+1-takenMost):], Digested{run.pos, d.sum.value()})
	}
}

// finish takes the digest of what was copied, after the digests of the steps before.
func (run *digestRun) finish() {
	if run.before != nil {
		<-run.before
	}
	begun := time.Now()
	if err := run.d.s.enter(); err != nil {
		run.err = err
		for _, c := range run.copies {
			c.tx.End()
		}
	} else {
		for _, c := range run.copies {
			if err := run.series(c); err != nil && run.err == nil {
				run.err = err
			}
		}
		defer run.d.s.leave()
	}
	run.took += time.Since(begun)
	run.d.end(run)
}
