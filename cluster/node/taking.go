package node

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

// copyIdle is for how long a copy may make no progress. The node that takes the copy ends it then.
// The log is kept for the copy for longer than that, for Times.Gone.
const copyIdle = 5 * time.Minute

// A taking is a copy that a node takes of another node's replica.
type taking struct {
	bytes atomic.Uint64 // that were taken
	idle  atomic.Bool   // it was ended, since it made no progress

	seen  uint64    // the bytes at the last look; guarded by Node.mu, as is since
	since time.Time // there were no more since then; zero: nobody has looked yet
}

var errIdle = errors.New("it has made no progress for " + copyIdle.String())

// watchCopy ends a copy that makes no progress. n.mu is held.
func (n *Node) watchCopy(l *local) {
	t, now := l.taking, n.o.now()
	if got := t.bytes.Load(); got != t.seen || t.since.IsZero() {
		t.seen, t.since = got, now
		return
	}
	if now.Sub(t.since) >= copyIdle && l.cancel != nil && !t.idle.Swap(true) {
		l.cancel()
	}
}

// restore lets the backup of another node flow into the disk, until ctx ends.
func (n *Node) restore(ctx context.Context, partition int, from *coord.Member, t *taking) error {
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		p, err := n.o.Peers.Partition(*from, partition)
		if err == nil {
			err = p.Backup(ctx, counting{w, &t.bytes})
		}
		_ = w.CloseWithError(err) // it never fails
		sent <- err
	}()
	stop := context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) }) // as above
	err := n.o.Disk.Restore(ctx, partition, r)
	stop()
	_ = r.CloseWithError(errors.New("the copy is not wanted any more")) // it never fails
	e := <-sent
	switch {
	case t.idle.Load() && (err != nil || e != nil):
		return errIdle
	case err == nil:
		return e
	}
	return err
}

// A counting counts what is written.
type counting struct {
	w     io.Writer
	bytes *atomic.Uint64
}

func (c counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.bytes.Add(uint64(n))
	return n, err
}
