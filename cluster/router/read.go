package router

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// lookupWait is how long Lookup waits for a leader: others lead 8 s after one was killed.
const lookupWait = 10 * time.Second

// Lookup is core.Store's. That a series is not there only the leader knows, and only while it leads
// for certain: a replica may be behind, and a sender that gets this answer drops what it has. If no
// leader knows it for certain within 10 s, or within Options.Wait if that is shorter, the error
// wraps core.ErrUnavailable.
func (r *Store) Lookup(path string) (core.Ref, error) {
	ctx, p := context.Background(), r.PartitionOf(path)
	certain := false
	ref, err := ask(ctx, r, p, func(e core.Engine) (ref core.Ref, err error) {
		ref, certain, err = r.lookup(p, e, path)
		return ref, err
	})
	if errors.Is(err, core.ErrNotFound) && !certain {
		until := time.Now().Add(min(r.options.Wait, lookupWait))
		err = r.writeUntil(ctx, p, until, func(e core.Engine) (err error) {
			ref, err = r.lookupLeading(p, e, path)
			return err
		})
	}
	return Outer(p, ref), err
}

// lookup looks a path up in an engine that answers questions about partition p. certain says that
// the engine leads for certain. An engine on another node that leads is asked for both at once.
func (r *Store) lookup(p int, e core.Engine, path string) (ref core.Ref, certain bool, err error) {
	if far, ok := e.(leading); ok {
		if lead, failed := r.dir.Leader(ended, p); failed == nil && lead == e {
			if ref, err = far.LookupLeading(path); !errors.Is(err, core.ErrNotLeader) {
				return ref, true, err
			}
		}
	}
	ref, err = e.Lookup(path)
	return ref, false, err
}

// A leading is a partition on another node, which knows whether it leads there.
type leading interface {
	// LookupLeading is Lookup, and refuses with core.ErrNotLeader while it is not certain that the
	// node leads.
	LookupLeading(path string) (core.Ref, error)
}

// A leads is a Directory that knows whether this process leads partition p for certain. If not, the
// error wraps core.ErrNotLeader.
type leads interface{ Leads(p int) error }

// lookupLeading looks a path up in an engine if it leads for certain. The Directory may take one
// for the leader that has begun anew, or that does not know of its successor.
func (r *Store) lookupLeading(p int, e core.Engine, path string) (core.Ref, error) {
	if x, ok := e.(leading); ok {
		return x.LookupLeading(path)
	}
	if d, ok := r.dir.(leads); ok {
		if err := d.Leads(p); err != nil {
			return 0, err
		}
	}
	return e.Lookup(path)
}

// leadsForCertain returns nil if an engine leads partition p for certain.
func (r *Store) leadsForCertain(p int, e core.Engine) error {
	_, err := r.lookupLeading(p, e, "")
	if elsewhere(err) {
		return err
	}
	return nil // any other error says that no series has an empty path
}

// of asks the partition of a reference. Only a node that leads for certain knows that there is no
// such series, as with Lookup: the replica that is asked first may be behind the leader that gave
// the caller the reference. An error that wraps core.ErrNotFound names the reference as the caller
// knows it.
func of[T any](ctx context.Context, r *Store, ref core.Ref, question func(e core.Engine, p int, in core.Ref) (T, error)) (T, error) {
	p, in, ok := r.inner(ref)
	if !ok {
		var none T
		return none, notFound(ref)
	}
	answer, err := ask(ctx, r, p, func(e core.Engine) (T, error) { return question(e, p, in) })
	if errors.Is(err, core.ErrNotFound) {
		err = r.certainly(ctx, p, func(e core.Engine) (err error) {
			answer, err = question(e, p, in)
			return err
		})
	}
	return answer, asOuter(ref, err)
}

// certainly calls fn with an engine that leads partition p for certain. While there is none, it
// waits as long as Lookup does. Calls that follow each other wait once: see doubt.
func (r *Store) certainly(ctx context.Context, p int, fn func(e core.Engine) error) error {
	ask := func(e core.Engine) error {
		if err := r.leadsForCertain(p, e); err != nil {
			return err
		}
		return fn(e)
	}
	err := r.writeUntil(ctx, p, time.Now(), ask)
	if !errors.Is(err, core.ErrUnavailable) {
		return err
	}
	err = r.writeUntil(ctx, p, r.doubt.until(min(r.options.Wait, lookupWait)), ask)
	if !errors.Is(err, core.ErrUnavailable) && ctx.Err() == nil {
		r.doubt.over()
	}
	return err
}

// A doubt is a time in which no leader is certain. A request may ask for many references, one after
// the other and without a context. All calls in one doubt share one wait: when it has passed, those
// that follow ask once and fail. A doubt ends when a leader has become certain, or when nobody has
// asked for twice as long as the wait.
type doubt struct {
	mu          sync.Mutex // guards what follows
	began, last time.Time
}

// until returns when a call that is in doubt gives up. wait is how long it may take.
func (d *doubt) until(wait time.Duration) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if now.Sub(d.last) >= 2*wait {
		d.began = now
	}
	d.last = now
	return d.began.Add(wait)
}

// over ends the doubt.
func (d *doubt) over() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = time.Time{}
}

// Info is core.Store's.
func (r *Store) Info(ref core.Ref) (core.Info, error) {
	return of(context.Background(), r, ref, func(e core.Engine, p int, in core.Ref) (core.Info, error) {
		x, err := e.Info(in)
		x.Ref = Outer(p, x.Ref)
		return x, err
	})
}

// Newest is Info as the leader has it: another replica may lack what other nodes have stored.
func (r *Store) Newest(ref core.Ref) (x core.Info, err error) {
	p, in, ok := r.inner(ref)
	if !ok {
		return x, notFound(ref)
	}
	err = r.certainly(context.Background(), p, func(e core.Engine) (err error) {
		x, err = e.Info(in)
		return err
	})
	x.Ref = Outer(p, x.Ref)
	return x, asOuter(ref, err)
}

// Lasts is core.Store's. It asks several partitions at the same time. That one series alone does
// not exist is certain.
func (r *Store) Lasts(ctx context.Context, refs []core.Ref) ([]core.LastTime, error) {
	if len(refs) == 1 {
		at, err := of(ctx, r, refs[0], func(e core.Engine, _ int, in core.Ref) (rra.Time, error) { return core.Last(ctx, e, in) })
		there := !errors.Is(err, core.ErrNotFound)
		if there && err != nil {
			return nil, err
		}
		return []core.LastTime{{Time: at, There: there}}, nil
	}
	out := make([]core.LastTime, len(refs))
	errs := r.dealRefs(refs, func(sh share, in []core.Ref) error {
		times, err := ask(ctx, r, sh.p, func(e core.Engine) ([]core.LastTime, error) { return e.Lasts(ctx, in) })
		for j := 0; j < len(times) && err == nil; j++ {
			out[sh.at[j]] = times[j]
		}
		return err
	})
	return out, join(errs)
}

// Export is core.Store's.
func (r *Store) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	return of(ctx, r, ref, func(e core.Engine, _ int, in core.Ref) (core.Copy, error) { return e.Export(ctx, in) })
}

// FetchMany is core.Store's. It reads several partitions at the same time, and calls fn for one
// series at a time. That one series alone does not exist is certain.
func (r *Store) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	if len(spans) == 1 {
		rows, err := of(ctx, r, spans[0].Ref, func(e core.Engine, _ int, in core.Ref) (rows core.Rows, err error) {
			x := spans[0]
			x.Ref = in
			err = e.FetchMany(ctx, []core.Span{x}, func(_ int, r *core.Rows, err error) {
				if err == nil {
					rows = *r
				}
			})
			return rows, err
		})
		fn(0, &rows, err)
		return err
	}
	f := &fetching{r: r, spans: spans, fn: fn}
	var first error
	for i := range spans {
		if _, _, ok := r.inner(spans[i].Ref); ok {
			continue
		}
		err := notFound(spans[i].Ref)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fn(i, &core.Rows{}, err)
		if first == nil {
			first = err
		}
	}
	errs := r.deal(len(spans), func(i int) int { return r.place(spans[i].Ref) }, func(sh share) error { return f.read(ctx, sh) })
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if first == nil {
			first = err
		}
	}
	return first
}

// A fetching is a call of FetchMany.
type fetching struct {
	r     *Store
	spans []core.Span

	mu sync.Mutex // held while fn is called
	fn func(i int, r *core.Rows, err error)
}

// read fetches the rows of one partition. If the partition cannot be reached, fn is called with
// that error for the series that are left.
func (f *fetching) read(ctx context.Context, sh share) error {
	told := make([]bool, len(sh.at))
	left := sh                     // what no engine has answered
	damaged := make(map[int]error) // what the last one has found damaged
	var first error
	err := f.r.Read(ctx, sh.p, func(e core.Engine) error {
		asked := left
		clear(told)
		err := e.FetchMany(ctx, f.inner(asked), func(k int, rows *core.Rows, err error) {
			if lost(err) {
				return
			}
			if errors.Is(err, core.ErrDamaged) {
				damaged[asked.at[k]] = err
				return
			}
			told[k] = true
			f.send(asked.at[k], rows, asOuter(f.spans[asked.at[k]].Ref, err), &first)
		})
		left = share{p: sh.p}
		for k, i := range asked.at {
			if !told[k] {
				left.at = append(left.at, i)
			}
		}
		if len(left.at) == 0 {
			return nil // the error is one that fn was given
		}
		return cmp.Or(err, damaged[left.at[0]])
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		for _, i := range left.at {
			why := err
			if own := damaged[i]; own != nil && !lost(err) {
				why = own
			}
			f.send(i, &core.Rows{}, why, &first)
		}
	}
	return first
}

// inner returns the spans of a share as the partition knows them.
func (f *fetching) inner(sh share) []core.Span {
	out := make([]core.Span, len(sh.at))
	for k, i := range sh.at {
		out[k] = f.spans[i]
		out[k].Ref &= 1<<partitionShift - 1
	}
	return out
}

// send calls fn and keeps the first error.
func (f *fetching) send(i int, rows *core.Rows, err error, first *error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fn(i, rows, err)
	if err != nil && *first == nil {
		*first = err
	}
}
