package node

import (
	"context"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// A local is what a node knows of its own replica of a partition.
type local struct {
	partition int
	replica   Replica   // nil: it is not open
	stored    bool      // the disk has one
	hurt      string    // why it must be made anew of a copy, or empty
	better    string    // the node from which the copy is to be taken, if that can be; or empty
	outdated  bool      // it needs a newer program, and not a copy
	copying   time.Time // since when it is to take a copy; zero: it takes none
	taking    *taking   // the copy under way, or nil
	shuns     string    // the node whose copy failed last, or empty
	told      time.Time // since when the others can read that it takes a copy

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
	unwanted  bool      // the map gives it to others
	spare     time.Time // since when it is unwanted and leads no more; zero: it is not

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

// opened notes that a replica is open.
func (l *local) opened(r Replica) {
	l.replica, l.stored, l.hurt, l.better, l.copying = r, true, "", "", time.Time{}
	l.taking, l.shuns = nil, ""
	l.outdated, l.holds = false, make(map[string]*hold)
	l.measured, l.reference, l.current, l.standing = false, 0, false, Standing{}
	l.digest, l.digestDue = core.Digested{}, time.Time{}
}

// refused returns what notes that err kept a replica from being opened or copied.
func (l *local) refused(err error) func() { return func() { l.outdated = newer(err) } }
