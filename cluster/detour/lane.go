package detour

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/cluster/spool"
	"github.com/rondo-db/rondo/engine/core"
)

// A lane is the way of the parts of one partition: to its leader, one after the other, or into the
// spool.
type lane struct {
	d *Detour
	p int

	// away is how many parts went into the spool while a leader still has them. While there is one,
	// all parts go into the spool.
	away atomic.Int32
	// stuck is how many questions have not been answered in time, and are still asked. While there
	// is one, no other is asked.
	stuck atomic.Int32

	samples []spool.Sample // of the goroutine that runs, and kept for the next part

	mu      sync.Mutex // guards what follows
	queue   []*part
	running bool
}

// put puts a part behind the others.
func (l *lane) put(x *part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, x)
	if !l.running {
		l.running = true
		l.d.lanewg.Go(l.run)
	}
}

// run forwards parts until none is left.
func (l *lane) run() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.queue, l.running = nil, false
			l.mu.Unlock()
			return
		}
		x := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		l.mu.Unlock()
		if l.detoured() || !l.direct(x) {
			l.spool(x)
		}
		x.j.arrived()
	}
}

// detoured says whether parts must go behind others in the spool.
func (l *lane) detoured() bool {
	s := l.d.spool
	return l.away.Load() > 0 || l.d.closed.Load() || s != nil && s.Holds(l.p)
}

// direct gives a part to the leader and waits for the outcome. It returns false if the part is to
// go into the spool.
func (l *lane) direct(x *part) bool {
	e, err := router.LeaderNow(l.d.dir, l.p)
	if err != nil {
		return false
	}
	b := &x.batch
	if x.promised {
		if !l.keepPromises(x, e) {
			return false
		}
		b = &x.kept
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.d.o.Patience)
	defer cancel()
	if err := e.Submit(ctx, b, &x.ticket); err != nil {
		return l.settled(x, b, err)
	}
	for answered := false; !answered; {
		select {
		case <-x.answered: // an earlier Submit that has failed may have left one
			answered = x.ticket.Done()
		case <-ctx.Done():
			l.leave(x)
			return false
		}
	}
	return l.settled(x, b, x.ticket.Wait())
}

// leave notes that the leader may still have a part that goes into the spool.
func (l *lane) leave(x *part) {
	x.lost = true
	l.away.Add(1)
	go func() {
		_ = x.ticket.Wait() // until the engine answers or is closed; the spool has the samples, too
		l.away.Add(-1)
	}()
}

// settled notes what became of a part at the leader. It returns false if the part is to go into the
// spool, which it does whenever it might have been stored later.
func (l *lane) settled(x *part, b *core.Batch, err error) bool {
	rejected, some := errors.AsType[*core.RejectedError](err)
	switch {
	case err == nil:
	case some:
		for i := range rejected.First {
			r := &rejected.First[i]
			if errors.Is(r.Err, core.ErrNotFound) {
				r.Err = notFound(router.Outer(l.p, b.Ref(r.Index)))
			}
		}
		x.rejected = rejected
	case errors.Is(err, core.ErrTooLarge) || errors.Is(err, core.ErrInvalid):
		x.rejected = &core.RejectedError{Other: len(x.index), First: []core.Rejection{{Err: err}}}
	default:
		return false
	}
	x.stale = x.promised
	return true
}

// keepPromises finds the series of the promises of a part. It returns false if one of them is not
// there, or if the leader does not answer.
func (l *lane) keepPromises(x *part, e core.Engine) bool {
	var open []*promise
	seen := make(map[core.Ref]*promise)
	for s := range x.batch.All() {
		if s.Ref&promiseBit == 0 || seen[s.Ref] != nil {
			continue
		}
		q := l.d.promises.get(s.Ref)
		if q == nil {
			return false // it was purged meanwhile; spool counts its samples
		}
		if seen[s.Ref] = q; q.real.Load() == 0 {
			open = append(open, q)
		}
	}
	found := make([]core.Ref, len(open))
	var failed error
	ok := l.within(func() {
		for i, q := range open {
			if found[i], failed = e.Lookup(q.spec.Path); failed != nil {
				return
			}
		}
	})
	if !ok || failed != nil {
		return false
	}
	for i, q := range open {
		q.real.Store(uint64(found[i]))
		l.d.names.put(router.Outer(l.p, found[i]), q.spec.Path)
		l.d.promises.exists(q.spec.Path)
	}
	x.batch.Split(func(_ int, ref core.Ref) (*core.Batch, core.Ref) {
		if q := seen[ref]; q != nil {
			ref = core.Ref(q.real.Load())
		}
		return &x.kept, ref
	})
	return true
}

// within calls fn and reports whether it has returned within the patience. After false, fn may
// still run: what it writes must not be read.
func (l *lane) within(fn func()) bool {
	if l.stuck.Load() > 0 {
		return false
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	t := time.NewTimer(l.d.o.Patience)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	}
	l.stuck.Add(1)
	go func() {
		<-done
		l.stuck.Add(-1)
	}()
	return false
}

func (l *lane) spool(x *part) {
	d := l.d
	if d.spool == nil {
		d.drop(l.p, NoSpool, len(x.index))
		return
	}
	l.samples = l.samples[:0]
	i, nameless := -1, 0
	for s := range x.batch.All() {
		i++
		out := spool.Sample{At: s.At, Values: s.Values, Texts: s.Texts}
		if s.Ref&promiseBit == 0 {
			out.Path = d.names.get(router.Outer(l.p, s.Ref))
		} else if q := d.promises.get(s.Ref); q != nil {
			out.Path, out.Make = q.spec.Path, &q.spec
		}
		if out.Path == "" {
			out.Path = l.nameOf(s.Ref)
		}
		if out.Path == "" {
			nameless++
			continue
		}
		l.samples = append(l.samples, out)
	}
	if nameless > 0 {
		d.drop(l.p, NoName, nameless)
	}
	if err := d.spool.Add(l.p, l.samples); err != nil {
		d.warn(l.p, len(l.samples), err.Error())
	}
	clear(l.samples)
}

// nameOf asks a replica for the path of a series; empty: nobody answers, or there is no series.
func (l *lane) nameOf(ref core.Ref) (path string) {
	if ref&promiseBit != 0 {
		return ""
	}
	e, err := router.ReaderNow(l.d.dir, l.p)
	if err != nil {
		return ""
	}
	var series core.Series
	if !l.within(func() { series, err = core.SeriesOf(context.Background(), e, ref) }) || err != nil {
		return ""
	}
	l.d.names.put(router.Outer(l.p, ref), series.Path)
	return series.Path
}
