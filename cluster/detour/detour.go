package detour

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/cluster/spool"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
)

// Options configure a Detour. The zero value of each field but Spool is what production runs.
type Options struct {
	// Spool keeps what cannot be delivered; nil: that is dropped and counted.
	Spool *spool.Spool
	// Patience is how long a leader may take for a part of a batch, and a partition for a question;
	// 0: 1 s.
	Patience time.Duration
	// PromiseBytes bounds the memory of promises; 0: 64 MiB.
	PromiseBytes int64
	// Names is of how many series the paths are remembered; 0: 4 Mi.
	Names int64
	// Logger takes a line when samples are dropped; nil: silent.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Patience <= 0 {
		o.Patience = time.Second
	}
	if o.PromiseBytes <= 0 {
		o.PromiseBytes = 64 << 20
	}
	if o.Names <= 0 {
		o.Names = 4 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Detour is a core.Engine for receivers whose senders get no answer. Methods that it does not
// have itself are the router's.
type Detour struct {
	*router.Store
	dir   router.Directory
	spool *spool.Spool
	o     Options

	lanes    []lane
	way      *router.Way // to the lanes
	names    names
	promises promises
	lost     [spool.Reasons]atomic.Uint64
	lines    loglimit.Limit[string]

	stop   context.CancelFunc
	ended  chan struct{}  // closed when the spool delivers nothing more
	lanewg sync.WaitGroup // of lanes that run
	closed atomic.Bool
}

var _ core.Engine = (*Detour)(nil)

// New returns a Detour over the partitions of dir, which are also r's. It delivers what the spool
// has until Stop.
func New(r *router.Store, dir router.Directory, o Options) *Detour {
	d := &Detour{Store: r, dir: dir, o: o.withDefaults(), lanes: make([]lane, r.Partitions()), ended: make(chan struct{})}
	d.spool = o.Spool
	for p := range d.lanes {
		d.lanes[p].d, d.lanes[p].p = d, p
	}
	d.way = r.Way(func(p int, x *router.Part) { d.lanes[p].put(x) })
	d.names.most, d.promises.most = d.o.Names, d.o.PromiseBytes
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	go func() {
		defer close(d.ended)
		if d.spool != nil {
			d.spool.Run(ctx, d.Store, d.leads)
		}
	}()
	return d
}

// Stop ends the delivery of what is spooled. Samples that are submitted afterwards go into the
// spool. It does not wait.
func (d *Detour) Stop() {
	d.closed.Store(true)
	d.stop()
}

// Close stops the Detour and closes the spool. Nobody submits samples any more, and the engines of
// the partitions are closed or answer. What is in the spool stays there.
func (d *Detour) Close() error {
	d.Stop()
	d.lanewg.Wait()
	<-d.ended
	if d.spool == nil {
		return nil
	}
	return d.spool.Close()
}

// Figures returns a snapshot of the figures of the Detour and its spool. Stats is the router's.
func (d *Detour) Figures() (st spool.Stats) {
	if d.spool != nil {
		st = d.spool.Stats()
	}
	for why := range d.lost {
		st.Dropped[why] += d.lost[why].Load()
	}
	return st
}

// drop counts samples that are lost before they have come into the spool.
func (d *Detour) drop(p int, why spool.Reason, n int) {
	d.lost[why].Add(uint64(n))
	d.warn(p, n, why.String())
}

// warn logs that samples were dropped, once a minute for each reason.
func (d *Detour) warn(p, n int, why string) {
	if ok, held := d.lines.Allow(why, time.Now()); ok {
		d.o.Logger.Error("samples were dropped: their partition does not take them now, as while it has no leader or its log is full", "partition", p, "samples", n, "why", why, "held_back_lines", held)
	}
}

// leads waits until a partition has a leader.
func (d *Detour) leads(ctx context.Context, p int) error {
	if p >= len(d.lanes) { // of another cluster: the paths say where the samples belong
		return nil
	}
	_, err := d.dir.Leader(ctx, p)
	return err
}

// Submit is core.Engine's. It does not wait for a leader. The ticket is complete when each part of
// the batch was stored, refused, or is in the spool. Its error is nil or a *core.RejectedError. The
// samples that were dropped because the spool did not take them are counted by Figures.
func (d *Detour) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	return d.way.Submit(ctx, b, t)
}
