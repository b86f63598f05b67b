package detour

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
)

// A Detour is a core.Engine for receivers whose senders get no answer. Methods that it does not
// have itself are the router's.
type Detour struct {
	*router.Store
	spool
	dir router.Directory

	lanes    []lane      // by partition; the spool may have more of another cluster
	way      *router.Way // to the lanes
	names    names
	promises promises

	stop    context.CancelFunc
	running sync.WaitGroup // of lanes and deliveries
	closed  atomic.Bool
}

var _ core.Engine = (*Detour)(nil)

// New returns a Detour over the partitions of dir, which are also r's. It delivers what the spool
// has until Stop. A partition whose log is damaged is set aside: its folder is renamed, and the
// damage logged. The error wraps wal.ErrNewer, and nothing is changed, if a newer version of rondo
// wrote a log.
func New(r *router.Store, dir router.Directory, o Options) (*Detour, error) {
	d := &Detour{Store: r, dir: dir, spool: spool{o: o.withDefaults(r), slots: make(chan struct{}, deliveries)}}
	d.names.most, d.promises.most = d.o.Names, d.o.PromiseBytes
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.deliver = func(b *backlog) { d.running.Go(func() { b.deliverAll(ctx, d.leads) }) }
	left, err := d.left()
	d.lanes = make([]lane, max(r.Partitions(), len(left)))
	for p := range d.lanes {
		l := &d.lanes[p]
		l.d, l.s, l.p, l.dir = d, &d.spool, p, filepath.Join(d.o.Dir, partName(p))
	}
	d.way = r.Way(func(p int, x *router.Part) { d.lanes[p].put(x) })
	for p := 0; p < len(left) && err == nil; p++ {
		if left[p] {
			err = d.lanes[p].load()
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open spool: %w", err), d.Close())
	}
	for p := range left {
		if b := &d.lanes[p].backlog; b.log != nil {
			d.deliver(b)
		}
	}
	return d, nil
}

// leads waits until a partition has a leader. One of another cluster needs none: the paths say
// where the samples belong.
func (d *Detour) leads(ctx context.Context, p int) error {
	if p >= d.Partitions() {
		return nil
	}
	_, err := d.dir.Leader(ctx, p)
	return err
}

// Stop ends the delivery of what is spooled. Samples that are submitted afterwards go into the
// spool. It does not wait.
func (d *Detour) Stop() {
	d.closed.Store(true)
	d.stop()
}

// Close stops the Detour and closes the spool. Nobody submits samples any more, and the engines of
// the partitions are closed or answer. What is in the spool stays there.
func (d *Detour) Close() (err error) {
	d.Stop()
	d.running.Wait()
	for p := range d.lanes {
		err = errors.Join(err, d.lanes[p].close())
	}
	return err
}

// lose drops samples that cannot come into the spool.
func (d *Detour) lose(p int, why Reason, n int) {
	d.drop(why, n)
	d.warn(p, n, why.String())
}

// warn logs that samples were dropped, once a minute for each reason.
func (d *Detour) warn(p, n int, why string) {
	d.lines.Log(d.o.Logger.Error, why, time.Now(), "samples were dropped: their partition does not take them now, as while it has no leader or its log is full", "partition", p, "samples", n, "why", why)
}

// Figures returns a snapshot of the figures of the Detour and its spool. Stats is the router's.
func (d *Detour) Figures() (st Stats) {
	d.count(func(now *Stats) { st = *now })
	st.Bytes, st.Capacity = d.held.Load(), d.o.Bytes
	for p := range d.lanes {
		if since := d.lanes[p].since.Load(); since != 0 {
			st.Partitions++
			st.Oldest = max(st.Oldest, time.Since(time.UnixMicro(since)))
		}
	}
	return st
}

// Submit is core.Engine's. It does not wait for a leader. The ticket is complete when each part of
// the batch was stored, refused, or is in the spool. Its error is nil or a *core.RejectedError. The
// samples that were dropped because the spool did not take them are counted by Figures.
func (d *Detour) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	return d.way.Submit(ctx, b, t)
}
