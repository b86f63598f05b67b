package node

import (
	"context"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A state says how far a node has come with its replica of a partition, whoever leads. Its changes
// are the methods of local in this file.
type state int

const (
	absent    state = iota // the disk has no replica
	closed                 // the disk has one, to be opened
	open                   // it follows the log, or leads
	broken                 // it is to be made anew of a copy: it serves nothing, open or not
	due                    // absent or broken; the others are to read that it takes a copy
	announced              // the others can read it
	copying                // the copy is on its way
	copied                 // the disk has the copy, to be opened
)

// A local is what a node knows of its own replica of a partition.
type local struct {
	partition int
	state     state
	since     time.Time // of announced
	why       string    // it is to be made anew of a copy; empty: it need not
	better    string    // the node from which the copy is to be taken, if that can be; or empty
	shuns     string    // the node whose copy failed last, or empty
	outdated  bool      // it needs a newer program, and not a copy
	replica   Replica   // nil: it is not open
	taking    *taking   // the copy on its way, or nil

	busy     string // the task under way, or empty
	cancel   context.CancelFunc
	failures int       // tasks in a row that failed
	retry    time.Time // no task before

	lease     coord.Lease // the newest that this node has read or written
	given     bool        // it may have been given to another: the store has not answered that
	term      uint64      // the term of the lease by which the replica began to lead
	standing  Standing    // at the last look
	measured  bool        // there was a look since it was opened
	reference wal.Pos     // what somebody held at that look
	current   bool
	free      time.Time // since when nobody has the lease; zero: somebody has it
	led       time.Time // since when it leads; zero: it does not
	spare     time.Time // since when the map gives it to others and it leads no more; zero: it does

	lost      bool             // the log had lost records when the replica was to lead
	truncated time.Time        // the last time
	holds     map[string]*hold // by node; of a leader
	digest    core.Digested    // at the last look
	digestDue time.Time        // when to take the next one, if it leads
}

// has notes the newest lease that was read or written.
func (l *local) has(lease coord.Lease) {
	l.given = l.given && lease.Revision == l.lease.Revision
	l.lease = lease
}

// ledFor returns how long a replica has led.
func (l *local) ledFor(now time.Time) time.Duration {
	if l.led.IsZero() {
		return 0
	}
	return now.Sub(l.led)
}

// opened says that a replica is open: absent, closed, copied → open.
func (l *local) opened(r Replica) {
	l.state, l.replica, l.why, l.better, l.shuns, l.taking = open, r, "", "", "", nil
	l.outdated, l.holds = false, make(map[string]*hold)
	l.measured, l.reference, l.current, l.standing = false, 0, false, Standing{}
	l.digest, l.digestDue = core.Digested{}, time.Time{}
}

// refused returns what says that err kept a replica from being opened.
func (l *local) refused(err error) func() { return func() { l.outdated = newer(err) } }

// breaks says why a replica must be made anew, of the copy of a better one if one is named: open,
// closed → broken.
func (l *local) breaks(why, better string) { l.state, l.why, l.better = broken, why, better }

// announces brings a copy nearer, at each look: absent, broken → due → announced. It reports
// whether the others have been able to read that for a time.
func (l *local) announces(now time.Time, notice time.Duration) bool {
	switch l.state {
	case due:
		l.state, l.since = announced, now
	case announced:
		return now.Sub(l.since) >= notice
	default:
		l.state = due
	}
	return false
}

// takes says that a copy is on its way: announced → copying. It returns the former replica, or nil.
func (l *local) takes() (former Replica) {
	former, l.replica = l.replica, nil
	l.state, l.taking = copying, new(taking)
	return former
}

// withoutCopy says that no copy is taken: due, announced, copying → absent, broken.
func (l *local) withoutCopy() {
	l.state, l.taking = absent, nil
	if l.why != "" {
		l.state = broken
	}
}

// copyFailed says that the copy of a node failed. The others learn that the log is not needed until
// the next one begins, which is rather taken from another node.
func (l *local) copyFailed(from string, err error) {
	l.withoutCopy()
	l.shuns, l.outdated = from, newer(err)
}
