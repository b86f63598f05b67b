package clustered

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
)

const (
	// halfFull is how many per cent of a log are taken when its replicas write checkpoints.
	halfFull = 50
	// reliefInterval is the time between two of these.
	reliefInterval = 10 * time.Second
)

// A relief lets replicas write checkpoints when their logs are half full. A log is needed behind
// the oldest checkpoint of its replicas. By itself a store writes one after so many bytes of
// records, which may be more than the log holds.
type relief struct {
	local   func(partition int) (node.Replica, bool) // the replica of this node, if it is open
	running *sync.WaitGroup

	busy atomic.Bool // checkpoints are written, or were a moment ago
}

func newRelief(local func(partition int) (node.Replica, bool), running *sync.WaitGroup) *relief {
	return &relief{local: local, running: running}
}

// found takes in what a survey has found. The checkpoints are written until ctx ends, one after the
// other.
func (r *relief) found(ctx context.Context, l *operate.LogServers) {
	var due []core.Folder
	for p, k := range l.Logs {
		if k.Full < halfFull {
			continue
		}
		if x, ok := r.local(p); ok {
			st := x.Standing()
			if f, err := core.FolderOf(x.Engine(), "checkpoint"); err == nil && st.Checkpoint < st.Position {
				due = append(due, f)
			}
		}
	}
	if len(due) == 0 || r.busy.Swap(true) {
		return
	}
	r.running.Go(func() {
		for _, f := range due {
			// A store that cannot write one says so in its own figures.
			_ = f.Checkpoint(ctx)
		}
		time.AfterFunc(reliefInterval, func() { r.busy.Store(false) })
	})
}

const (
	// diskInterval is the time between two looks at the disk.
	diskInterval = 5 * time.Second
	// leastFree is what a disk must have left to take replicas, or a twentieth of it if that is
	// less. One that was full must have twice as much.
	leastFree = 128 << 20
)

// A fullness says whether the disk of a node takes no more. A disk may not answer, so that nobody
// but watch asks it.
type fullness struct{ text atomic.Pointer[string] }

// String returns how much a full disk has left, and an empty text otherwise.
func (f *fullness) String() string {
	if t := f.text.Load(); t != nil {
		return *t
	}
	return ""
}

// look takes in what a disk has, in bytes. Zeros mean that it is not known.
func (f *fullness) look(free, size int64) {
	least := min(leastFree, size/20)
	if f.String() != "" {
		least *= 2
	}
	text := ""
	if free < least {
		text = fmt.Sprintf("%.1f MiB left", float64(free)/(1<<20))
	}
	f.text.Store(&text)
}

// watch looks at the disk until ctx ends.
func (f *fullness) watch(ctx context.Context, space func() (free, size int64)) {
	for {
		f.look(space())
		if sleep.For(ctx, diskInterval) != nil {
			return
		}
	}
}
