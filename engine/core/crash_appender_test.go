package core_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A crashAppender does the operations of one plan on a store; of batches depth are under way at a
// time.
type crashAppender struct {
	s     *core.Store
	p     *crashPlan
	refs  map[*planSeries]core.Ref
	pipe  []*planBatch
	depth int
	begin func(n int) // an operation begins
	done  func(n int) // it is acknowledged; in order
}

// A planBatch is a batch under way.
type planBatch struct {
	n    int
	b    core.Batch
	t    core.Ticket
	beat core.Ref
	at   rra.Time // the last sample of the beat: the store must show it after the acknowledgement
}

// newCrashAppender goes on behind the first from operations of a plan.
func newCrashAppender(s *core.Store, seed uint64, app, from int) *crashAppender {
	a := &crashAppender{s: s, p: newCrashPlan(seed, app), refs: make(map[*planSeries]core.Ref)}
	for range from {
		a.p.next()
	}
	return a
}

// step does the next operation.
func (a *crashAppender) step() error {
	n := a.p.n
	o := a.p.next()
	return a.op(n, &o)
}

func (a *crashAppender) op(n int, o *planOp) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("operation %d of appender %d: %w", n, a.p.app, err)
		}
	}()
	a.begin(n)
	if len(o.samples) > 0 {
		return a.submit(n, o)
	}
	ctx := context.Background()
	switch {
	case o.create != nil:
		out, err := a.s.CreateBatch(ctx, a.p.specs(o))
		for i, x := range out {
			err = errors.Join(err, x.Err)
			a.refs[o.create[i]] = x.Ref
		}
		if err != nil {
			return err
		}
	case o.drop != nil:
		err = core.Drop(ctx, a.s, o.drop.path)
	case o.rename != nil:
		err = a.s.Rename(ctx, o.from, o.rename.path)
	case o.replace != nil:
		spec := a.p.spec(o.by, o.start)
		spec.Overwrite = true
		a.refs[o.by], err = a.s.Create(ctx, spec)
	}
	if err == nil {
		err = a.wait(0)
	}
	if err == nil {
		a.done(n)
	}
	return err
}

func (a *crashAppender) ref(x *planSeries) (core.Ref, error) {
	if ref := a.refs[x]; ref != 0 {
		return ref, nil
	}
	ref, err := a.s.Lookup(x.path)
	if err == nil {
		a.refs[x] = ref
	}
	return ref, err
}

func (a *crashAppender) submit(n int, o *planOp) error {
	if a.depth > 0 {
		if err := a.wait(n % a.depth); err != nil {
			return err
		}
	}
	c := &planBatch{n: n}
	for _, sm := range o.samples {
		ref, err := a.ref(sm.x)
		if err != nil {
			return err
		}
		values, texts := a.p.values(sm.x, sm.at)
		c.b.AddText(ref, sm.at, values, texts)
		if sm.x == a.p.beat() {
			c.beat, c.at = ref, sm.at
		}
	}
	if err := a.s.Submit(context.Background(), &c.b, &c.t); err != nil {
		return err
	}
	a.pipe = append(a.pipe, c)
	if a.depth == 0 {
		return a.wait(0)
	}
	return nil
}

// wait waits until at most n batches are under way.
func (a *crashAppender) wait(n int) error {
	for len(a.pipe) > n {
		c := a.pipe[0]
		a.pipe = a.pipe[1:]
		if err := c.t.Wait(); err != nil {
			return err
		}
		a.done(c.n)
		if at, err := a.s.Last(c.beat); err != nil || at < c.at {
			return fmt.Errorf("last is %d, %v after %d was acknowledged", at, err, c.at)
		}
	}
	return nil
}
