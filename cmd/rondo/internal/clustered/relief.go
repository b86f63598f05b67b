package clustered

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/engine/core"
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
