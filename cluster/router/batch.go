package router

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// A delivery is a batch on its way to the partitions. It is used again when the batch has arrived.
type delivery struct {
	r      *Store
	pool   *sync.Pool   // from which it is
	ticket *core.Ticket // the caller's
	size   int          // samples of the caller's batch
	keep   int          // how many refused samples an error names
	parts  []*Part      // by partition; nil: no sample was ever of it
	used   []*Part      // the parts of the batch at hand, in order of partitions

	strays []core.Rejection // samples of no partition, the first keep
	stray  int              // all samples of no partition

	left atomic.Int32 // parts that have not arrived, and one while parts are being submitted
}

// A Part is what of a batch belongs to one partition.
type Part struct {
	errand
	// Answered gets a message when the Ticket of a Part that goes by a Way is complete. It may get
	// one more, of an earlier use: whoever waits looks whether the Ticket is done. It holds one.
	Answered chan struct{}
	// Lost says that an engine may still have the Part when End is called: it is not used again.
	Lost bool

	d     *delivery
	index []uint32 // of each sample in the caller's batch
	err   error    // what became of it
}

// A Way brings parts of batches to their partitions, otherwise than a Store does.
type Way struct {
	r          *Store
	post       func(p int, x *Part)
	deliveries sync.Pool // of *delivery
}

// Way returns a Way of r that gives each Part to post, in the order in which the batches of one
// caller are submitted. post does not wait; somebody calls [Part.End] later.
func (r *Store) Way(post func(p int, x *Part)) *Way { return &Way{r: r, post: post} }

// Submit is core.Engine's. The ticket is complete when each part of the batch has ended.
func (w *Way) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := w.r.delivery(&w.deliveries, b)
	d.ticket = t
	d.split(b, true)
	d.left.Store(int32(len(d.used)) + 1)
	t.Begin()
	for _, pt := range d.used {
		w.post(pt.lane.p, pt)
	}
	d.arrived()
	return nil
}

// keptRejections is how many refused samples an error names unless the batch asks for more, as in a
// core.Store.
const keptRejections = 16

func (r *Store) delivery(pool *sync.Pool, b *core.Batch) *delivery {
	d, ok := pool.Get().(*delivery)
	if !ok {
		d = &delivery{r: r, pool: pool, parts: make([]*Part, r.n)}
	}
	d.size, d.keep, d.stray = b.Len(), b.Rejections, 0
	if d.keep <= 0 {
		d.keep = keptRejections
	}
	d.strays = d.strays[:0]
	return d
}

// release gives d back. Nothing of it is on its way any more.
func (d *delivery) release() {
	for _, pt := range d.used {
		if pt.Lost {
			d.parts[pt.lane.p] = nil
			continue
		}
		pt.reset()
		pt.index, pt.err = pt.index[:0], nil
	}
	d.used, d.ticket = d.used[:0], nil
	d.pool.Put(d)
}

// split gives the samples of b to the parts. answered says that somebody waits for each.
func (d *delivery) split(b *core.Batch, answered bool) {
	b.Split(func(i int, ref core.Ref) (*core.Batch, core.Ref) {
		p, in, ok := d.r.inner(ref)
		if !ok {
			if !b.Follows(i) { // the samples behind a refused one in its command do not count
				d.stray++
				if len(d.strays) < d.keep {
					d.strays = append(d.strays, core.Rejection{Index: i, Err: notFound(ref)})
				}
			}
			return nil, 0
		}
		pt := d.parts[p]
		if pt == nil {
			pt = &Part{d: d, errand: errand{lane: &d.r.lanes[p], posted: make(chan error, 1)}}
			pt.end = pt.End
			pt.Ticket.Notify(pt.arrived)
			if answered {
				pt.Answered = make(chan struct{}, 1)
			}
			d.parts[p] = pt
		}
		if len(pt.index) == 0 {
			d.used = append(d.used, pt)
		}
		pt.index = append(pt.index, uint32(i))
		return &pt.Batch, in
	})
	slices.SortFunc(d.used, func(a, b *Part) int { return a.lane.p - b.lane.p })
}

// Submit is core.Store's. If some partitions have stored their part of b and others have not, Wait
// returns a *core.PartialError. Batches that one caller submits reach a partition in that order,
// also where the leader of the partition changes meanwhile.
func (r *Store) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := r.delivery(&r.deliveries, b)
	d.split(b, false)
	var until time.Time // for all partitions together
	d.left.Store(int32(len(d.used)) + 1)
	var errs []error
	for _, pt := range d.used {
		pt.number = core.NumberOf(ctx)
		if err := pt.lane.post(ctx, &pt.errand, &until); err != nil {
			pt.err = err
			errs = append(errs, err)
			d.left.Add(-1)
		}
	}
	if len(d.used) > 0 && len(errs) == len(d.used) {
		d.release()
		return join(errs)
	}
	r.strays.Add(uint64(d.stray))
	d.ticket = t
	t.Begin()
	d.arrived()
	return nil
}

// arrived is called when the partition has stored or refused the part.
func (pt *Part) arrived() {
	if pt.Answered != nil {
		select {
		case pt.Answered <- struct{}{}:
		default:
		}
		return
	}
	err := pt.Ticket.Wait()
	if pt.lane.settled(&pt.errand, err) {
		return
	}
	pt.End(err)
}

// End reports what became of the part. A reference in the error is one of the partition.
func (pt *Part) End(err error) {
	pt.err = err
	if pt.engine != nil {
		pt.d.r.marks[pt.lane.p].acknowledged(pt.engine)
	}
	pt.d.arrived()
}

// arrived completes the caller's ticket when the last part has arrived.
func (d *delivery) arrived() {
	if d.left.Add(-1) > 0 {
		return
	}
	t, err := d.ticket, d.outcome()
	d.release()
	t.Complete(err)
}

// outcome puts together what became of the parts.
func (d *delivery) outcome() error {
	var failed []error
	rejected := &core.RejectedError{Other: d.stray, First: slices.Clone(d.strays)}
	var missing []int
	for _, pt := range d.used {
		switch part, ok := errors.AsType[*core.RejectedError](pt.err); {
		case ok || pt.err == nil:
			rejected.Add(part, len(pt.index), func(x core.Rejection) core.Rejection {
				return core.Rejection{Index: int(pt.index[x.Index]), Err: pt.outerError(x)}
			})
		default:
			failed = append(failed, pt.err)
			for _, i := range pt.index {
				missing = append(missing, int(i))
			}
		}
	}
	rejected.First = core.FirstRejections(rejected.First, d.keep)
	if rejected.Late+rejected.Other+len(rejected.First) == 0 {
		rejected = nil
	}
	switch {
	case len(failed) == 0 && rejected == nil:
		return nil
	case len(failed) == 0:
		return rejected
	case len(failed) == len(d.used):
		return join(failed)
	}
	slices.Sort(missing)
	return &core.PartialError{Err: join(failed), Missing: missing, Samples: d.size, Rejected: rejected}
}

// outerError returns the error of a rejected sample of pt. It names the reference that the caller
// knows.
func (pt *Part) outerError(x core.Rejection) error {
	return asOuter(Outer(pt.lane.p, pt.Batch.Ref(x.Index)), x.Err)
}
