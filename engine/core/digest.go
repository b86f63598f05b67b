package core

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// takenMost is how many digests are kept.
const takenMost = 8

// A digests takes part in rounds.
type digests struct {
	s      *Store
	taking chan struct{} // held by TakeDigest; holds one

	mu     sync.Mutex // guards what follows; taken last and alone
	off    bool       // records are applied that are no news
	round  uint64     // at hand; 0: none
	next   uint64     // the number of its next step
	sum    mixer      // of its steps so far
	void   error      // why there is no digest of it
	taken  []Digested // the newest ones, in their order
	voided error      // why the newest round that has ended has no digest
}

func (d *digests) init(s *Store) {
	d.s, d.taking = s, make(chan struct{}, 1)
}

// A digestRun takes the digest of one step.
type digestRun struct {
	d    *digests
	step digestStep
	pos  wal.Pos
	done chan struct{} // closed when it is taken
	sums []uint64      // of the groups of the step; each shard sets its own

	mu   sync.Mutex // guards what follows while shards take it
	left int        // shards that have yet to take theirs
	err  error
	took time.Duration

	// Of partNames and partMetadata: where the next step begins, and whether there is one.
	after string
	more  bool

	sum mixer
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
	run := d.begin(&st, pos)
	if run == nil {
		return nil
	}
	begun := time.Now()
	switch st.part {
	case partNames:
		run.err = run.names()
	case partMetadata:
		run.err = run.metadata()
	default: // an end, too, comes behind what shards have yet to take
		run.sums, run.left = make([]uint64, st.n), len(d.s.appender.shards)
		t.op.all = run.groups
		return run
	}
	run.took = time.Since(begun)
	d.end(run)
	return run
}

// begin returns the run of a step, or nil if the store does not take part.
func (d *digests) begin(st *digestStep, pos wal.Pos) *digestRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	if st.number == 0 && !d.off {
		d.round, d.next, d.sum, d.void = st.round, 0, mixer{}, nil
	}
	if d.off || st.round != d.round || st.number != d.next {
		d.round, d.void = 0, errJoined
	}
	d.next++
	if d.void != nil {
		if st.part == partEnd {
			d.voided = d.void
		}
		return nil
	}
	return &digestRun{d: d, step: *st, pos: pos, done: make(chan struct{})}
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
func (d *digests) at(pos wal.Pos) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.taken, func(x Digested) bool { return x.At == pos })
	switch {
	case i >= 0:
		return d.taken[i].Sum, nil
	case d.voided != nil:
		return 0, fmt.Errorf("no digest at log position %d: %w", pos, d.voided)
	}
	return 0, fmt.Errorf("no digest at log position %d: the store took no part in a round that ended there", pos)
}

// end takes in the outcome of a run.
func (d *digests) end(run *digestRun) {
	d.mu.Lock()
	defer d.mu.Unlock()
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
