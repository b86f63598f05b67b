package detour

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
)

// A journey is a batch on its way to the partitions. It is used again when all has arrived.
type journey struct {
	d      *Detour
	ticket *core.Ticket // the caller's
	keep   int          // how many refused samples an error names
	parts  []*part      // by partition; nil: none yet
	used   []*part      // the parts of the batch at hand

	strays []core.Rejection // samples of no series, the first keep
	stray  int              // all samples of no series

	left atomic.Int32 // parts that have not arrived, and one while parts are handed over
}

// A part is what of a batch belongs to one partition.
type part struct {
	j        *journey
	p        int
	batch    core.Batch    // with references within the partition, or promises
	index    []uint32      // of each sample in the caller's batch
	promised bool          // the batch has promises
	kept     core.Batch    // the batch with references in place of promises
	ticket   core.Ticket   // at the leader
	answered chan struct{} // gets a message when the leader has answered; holds one
	lost     bool          // the leader may still have it: it is not used again
	stale    bool          // its promises were kept: their references are to be resolved again
	rejected *core.RejectedError
}

// keptRejections is how many refused samples an error names unless the batch asks for more, as in a
// core.Store.
const keptRejections = 16

// Submit is core.Engine's. It does not wait for a leader. The ticket is complete when each part of
// the batch was stored, refused, or is in the spool. Its error is nil or a *core.RejectedError. The
// samples that were dropped because the spool did not take them are counted by Figures.
func (d *Detour) Submit(ctx context.Context, b *core.Batch, t *core.Ticket) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j, ok := d.journeys.Get().(*journey)
	if !ok {
		j = &journey{d: d, parts: make([]*part, len(d.lanes))}
	}
	j.begin(b, t)
	j.split(b)
	j.left.Store(int32(len(j.used)) + 1)
	t.Begin()
	for _, x := range j.used {
		d.lanes[x.p].put(x)
	}
	j.arrived()
	return nil
}

func (j *journey) begin(b *core.Batch, t *core.Ticket) {
	j.ticket, j.keep, j.stray = t, b.Rejections, 0
	if j.keep <= 0 {
		j.keep = keptRejections
	}
	j.strays = j.strays[:0]
}

// release gives j back. A part that its leader may still have is not used again.
func (j *journey) release() {
	for _, x := range j.used {
		if x.lost {
			j.parts[x.p] = nil
			continue
		}
		x.batch.Reset()
		x.kept.Reset()
		x.index, x.promised, x.stale, x.rejected = x.index[:0], false, false, nil
	}
	j.used, j.ticket = j.used[:0], nil
	j.d.journeys.Put(j)
}

// split gives the samples of b to the parts.
func (j *journey) split(b *core.Batch) {
	now := time.Now().Unix()
	b.Split(func(i int, ref core.Ref) (*core.Batch, core.Ref) {
		p, in := router.Inner(ref)
		promised := ref&promiseBit != 0
		if promised {
			p, in = -1, ref
			if q := j.d.promises.get(ref); q != nil {
				p = q.p
				q.used.Store(now)
			}
		}
		if p < 0 || p >= len(j.parts) {
			if !b.Follows(i) { // the samples behind a refused one in its command do not count
				j.refuse(i, ref)
			}
			return nil, 0
		}
		x := j.part(p)
		x.promised = x.promised || promised
		x.index = append(x.index, uint32(i))
		return &x.batch, in
	})
}

// part returns the part of a partition.
func (j *journey) part(p int) *part {
	x := j.parts[p]
	if x == nil {
		x = &part{j: j, p: p, answered: make(chan struct{}, 1)}
		x.ticket.Notify(x.arrived)
		j.parts[p] = x
	}
	if len(x.index) == 0 {
		j.used = append(j.used, x)
	}
	return x
}

// arrived is called when the leader has answered. One message is enough, also if it is of an
// earlier Submit that has failed: direct looks whether the ticket is done.
func (x *part) arrived() {
	select {
	case x.answered <- struct{}{}:
	default:
	}
}

// refuse notes that sample i is of no series.
func (j *journey) refuse(i int, ref core.Ref) {
	j.stray++
	if len(j.strays) < j.keep {
		j.strays = append(j.strays, core.Rejection{Index: i, Err: notFound(ref)})
	}
}

// errStale is of a sample that was stored, and whose sender is to resolve its names again.
var errStale = fmt.Errorf("the reference stood for a series that exists by now: resolve it again: %w", core.ErrNotFound)

func notFound(ref core.Ref) error { return fmt.Errorf("ref %d: %w", ref, core.ErrNotFound) }

// arrived completes the caller's ticket when the last part has arrived.
func (j *journey) arrived() {
	if j.left.Add(-1) > 0 {
		return
	}
	t, err := j.ticket, j.outcome()
	j.release()
	t.Complete(err)
}

// outcome puts together what became of the parts.
func (j *journey) outcome() error {
	all := &core.RejectedError{Other: j.stray, First: slices.Clone(j.strays)}
	stale := -1
	for _, x := range j.used {
		if x.stale {
			stale = int(x.index[0])
		}
		all.Add(x.rejected, len(x.index), func(r core.Rejection) core.Rejection {
			return core.Rejection{Index: int(x.index[r.Index]), Err: r.Err}
		})
	}
	slices.SortStableFunc(all.First, func(a, b core.Rejection) int { return a.Index - b.Index })
	all.First = all.First[:min(len(all.First), j.keep)]
	if stale >= 0 {
		all.First = append(all.First, core.Rejection{Index: stale, Err: errStale})
	}
	if len(all.First) == 0 {
		return nil
	}
	return all
}
