package detour

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
)

// A lane is the way of the parts of one partition: to its leader, one after the other, or into the
// spool.
type lane struct {
	backlog
	d *Detour

	// stuck is how many questions have not been answered in time, and are still asked. While there
	// is one, no other is asked.
	stuck atomic.Int32

	samples []sample // of the goroutine that runs, and kept for the next part

	mu      sync.Mutex // guards what follows
	queue   []*router.Part
	running bool
}

// put puts a part behind the others.
func (l *lane) put(x *router.Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, x)
	if !l.running {
		l.running = true
		l.d.running.Go(l.run)
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
		x.End(l.bring(x))
	}
}

// bring brings a part to the leader or into the spool. It returns what was refused, or nil.
func (l *lane) bring(x *router.Part) error {
	e, err := router.LeaderNow(l.d.dir, l.p)
	if err != nil || l.d.closed.Load() || l.since.Load() != 0 {
		return l.keep(x, false)
	}
	for s := range x.Batch.All() {
		if s.Ref&promiseBit != 0 { // the delivery makes the series
			return l.keep(x, true)
		}
	}
	done, err := l.direct(x, e)
	if !done {
		return l.keep(x, false)
	}
	return err
}

// direct gives a part to the leader and waits for the outcome. done is false if the part is to go
// into the spool, as it is whenever it might have been stored later.
func (l *lane) direct(x *router.Part, e core.Engine) (done bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.d.o.Patience)
	defer cancel()
	if err = e.Submit(ctx, &x.Batch, &x.Ticket); err == nil {
		for !x.Ticket.Done() {
			select {
			case <-x.Answered:
			case <-ctx.Done():
				x.Lost = true
				return false, nil
			}
		}
		err = x.Ticket.Wait()
	}
	rejected, some := errors.AsType[*core.RejectedError](err)
	switch {
	case err == nil:
		return true, nil
	case some:
		return true, rejected
	case errors.Is(err, core.ErrTooLarge) || errors.Is(err, core.ErrInvalid):
		return true, &core.RejectedError{Other: x.Batch.Len(), First: []core.Rejection{{Err: err}}}
	}
	return false, nil
}

// errStale is of a sample that is kept, and whose sender is to resolve its names again.
var errStale = fmt.Errorf("the reference stood for a series that exists by now: resolve it again: %w", core.ErrNotFound)

// keep puts a part into the spool. It returns what was refused, or nil. made says that the series
// of promises are about to be there.
func (l *lane) keep(x *router.Part, made bool) error {
	d := l.d
	if d.o.Bytes == 0 {
		d.lose(l.p, NoSpool, x.Batch.Len())
		return nil
	}
	l.samples = l.samples[:0]
	i, nameless := -1, 0
	refused := &core.RejectedError{}
	for s := range x.Batch.All() {
		i++
		out := sample{At: s.At, Values: s.Values, Texts: s.Texts}
		if s.Ref&promiseBit == 0 {
			if out.Path = l.nameOf(s.Ref); out.Path == "" {
				nameless++
				continue
			}
		} else if q := d.promises.get(s.Ref); q != nil {
			out.Path, out.Make = q.spec.Path, &q.spec
			if made {
				refused.First, made = append(refused.First, core.Rejection{Index: i, Err: errStale}), false
			}
		} else {
			refused.Other++
			refused.First = append(refused.First, core.Rejection{Index: i, Err: notFound(s.Ref)})
			continue
		}
		l.samples = append(l.samples, out)
	}
	if nameless > 0 {
		d.lose(l.p, NoName, nameless)
	}
	if err := l.add(l.samples); err != nil {
		d.warn(l.p, len(l.samples), err.Error())
	}
	clear(l.samples)
	if len(refused.First) == 0 {
		return nil
	}
	refused.Accepted = i + 1 - refused.Other
	return refused
}

// nameOf returns the path of a series. If nobody has asked for it before, it asks a replica; empty:
// none answers, or there is no series.
func (l *lane) nameOf(in core.Ref) string {
	ref := router.Outer(l.p, in)
	if path := l.d.names.get(ref); path != "" {
		return path
	}
	s, err := l.d.series(context.Background(), ref)
	if err != nil {
		return ""
	}
	return s.Path
}

// ask calls fn with the engine that which returns for a partition. If there is no such engine, or
// fn takes longer than the patience, the error wraps core.ErrUnavailable.
func ask[T any](d *Detour, p int, which func(router.Directory, int) (core.Engine, error), fn func(e core.Engine) (T, error)) (T, error) {
	type answer struct {
		x   T
		err error
	}
	a, l := answer{err: fmt.Errorf("partition %d: %w", p, core.ErrUnavailable)}, &d.lanes[p]
	e, err := which(d.dir, p)
	if err != nil || l.stuck.Load() > 0 {
		return a.x, a.err
	}
	answered := make(chan answer, 1)
	go func() {
		x, err := fn(e)
		answered <- answer{x, err}
	}()
	t := time.NewTimer(d.o.Patience)
	defer t.Stop()
	select {
	case a = <-answered:
	case <-t.C:
		l.stuck.Add(1)
		go func() {
			<-answered
			l.stuck.Add(-1)
		}()
	}
	return a.x, a.err
}
