package sink

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Resolve is receivers.Sink's.
func (s *Sink) Resolve(ctx context.Context, reqs []receivers.Request) error {
	c := call{
		Sink: s, reqs: reqs,
		repeated: make(map[int]int), granted: make(map[string]int, 1),
	}
	defer func() { s.allowed.GiveBack(c.granted, s.o.Now()) }()
	if err := c.lookAll(ctx); err != nil {
		return err
	}
	if len(c.specs) > 0 {
		if err := c.create(ctx); err != nil {
			return err
		}
	}
	if len(c.relabels) > 0 {
		if err := c.relabel(ctx); err != nil {
			return err
		}
	}
	for i, j := range c.repeated {
		reqs[i].Ref, reqs[i].Definition, reqs[i].Err = reqs[j].Ref, reqs[j].Definition, reqs[j].Err
	}
	c.meet()
	s.roll.enter(reqs, s.o.Now())
	c.watch()
	return nil
}

// watch begins to watch the series of the requests.
func (c *call) watch() {
	ys := make([]*young, 0, len(c.reqs))
	var free []young // some at a time: a silent series may keep its whole piece
	for i := range c.reqs {
		r := &c.reqs[i]
		if r.Err != nil || r.Ref == 0 {
			continue
		}
		if y := c.met[i]; y != nil {
			ys = append(ys, y)
		} else if y, ok := youngOf(r, c.learn[i]); ok {
			if len(free) == cap(free) {
				free = make([]young, 0, min(len(c.reqs)-i, 64))
			}
			free = append(free, y)
			ys = append(ys, &free[len(free)-1])
		}
	}
	c.shared.watch(ys)
}

// meet finds the series of the requests that others made a moment ago.
func (c *call) meet() {
	same := make(map[[2]*rra.Definition]bool)
	for i := range c.reqs {
		r := &c.reqs[i]
		if _, again := c.repeated[i]; again || !r.Learn || r.Made || r.Err != nil || c.roll.knows(r.Ref) {
			continue
		}
		d, named, err := c.guess(r, 0)
		if err != nil || named || d.Step != r.Definition.Step {
			continue
		}
		k := [2]*rra.Definition{d, r.Definition}
		is, ok := same[k]
		if !ok {
			is = bytes.Equal(core.AppendDefinition(nil, d), core.AppendDefinition(nil, r.Definition))
			same[k] = is
		}
		if !is {
			continue
		}
		if y := c.metYoung(r); y != nil {
			if c.met == nil {
				c.met = make(map[int]*young)
			}
			c.met[i] = y
		}
	}
}

// A call is one call of Resolve: its requests, sorted by what each of them needs.
type call struct {
	*Sink
	reqs []receivers.Request

	specs     []core.Spec       // of the series to be made
	specOf    []int             // specOf[i] is the index of the request of specs[i]
	relabels  []core.PathLabels // for series that exist
	relabelOf []int             // relabelOf[i] is the index of the request of relabels[i]
	same      map[string]int    // the path of each of specs → the index of its request
	repeated  map[int]int       // index of a request → of the earlier one with the same path
	granted   map[string]int    // sender → new series taken from its allowance and not made yet
	learn     map[int]bool      // index of a request → whether its step may be learned
	met       map[int]*young    // index of a request → its series, if another node has just made it
}

// lookAll looks the series of all requests up.
func (c *call) lookAll(ctx context.Context) error {
	paths := make([]string, len(c.reqs))
	for i := range c.reqs {
		paths[i] = c.reqs[i].Path
	}
	if f, ok := c.store.(Finder); ok {
		f.Find(ctx, paths, c.answer)
		return nil
	}
	refs, err := c.lookup(paths)
	for i, ref := range refs {
		s, err := core.Series{}, error(core.ErrNotFound)
		if ref != 0 {
			s, err = core.SeriesOf(ctx, c.store, ref)
		}
		c.answer(i, s, err)
	}
	return err
}

// lookup returns the series of paths; 0: a path is no series.
func (c *call) lookup(paths []string) (refs []core.Ref, err error) {
	if s, ok := c.store.(*core.Store); ok {
		return s.LookupAll(paths)
	}
	refs = make([]core.Ref, len(paths))
	for i, p := range paths {
		if refs[i], err = c.store.Lookup(p); err != nil && !errors.Is(err, core.ErrNotFound) {
			return nil, fmt.Errorf("look up %q: %w", p, err)
		}
	}
	return refs, nil
}

// answer takes what is found of the series of request i. It notes the series if it exists, adds a
// spec if it may be made, and does nothing more if an earlier request makes it.
func (c *call) answer(i int, s core.Series, err error) {
	r := &c.reqs[i]
	r.Ref, r.Made, r.Definition, r.Err = 0, false, nil, nil
	c.heard.from(r)
	j, again := c.same[r.Path]
	switch {
	case again:
		c.repeated[i] = j
	case err == nil:
		r.Ref, r.Definition = s.Ref, s.Definition
		if r.Relabel && r.Taken() {
			c.relabels = append(c.relabels, core.PathLabels{Path: r.Path, Labels: labels(r)})
			c.relabelOf = append(c.relabelOf, i)
		}
	case errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrUnavailable):
		c.missing(i)
	default:
		r.Err = fmt.Errorf("look up %q: %w", r.Path, err)
	}
}

// missing adds the spec of a series that is to be made for request i, if it may be made.
func (c *call) missing(i int) {
	r := &c.reqs[i]
	if !c.allowed.Spend(r.Sender, 1, c.o.Now()) {
		r.Err = receivers.ErrSenderLimit
		c.refused.count(r.Err)
		return
	}
	c.granted[r.Sender]++
	d, err := c.define(i)
	if err != nil {
		r.Err = err
		c.refused.count(err)
		return
	}
	if c.specs == nil {
		left := len(c.reqs) - i
		c.specs, c.specOf, c.same = make([]core.Spec, 0, left), make([]int, 0, left), make(map[string]int, left)
	}
	c.same[r.Path] = i
	c.specs = append(c.specs, core.Spec{Path: r.Path, Labels: labels(r), Definition: d, Start: r.Starts(d)})
	c.specOf = append(c.specOf, i)
}

// define returns the definition of the series that is made for request i.
func (c *call) define(i int) (*rra.Definition, error) {
	r := &c.reqs[i]
	if !r.Learn && !r.Widen {
		return c.Policy().DefineRequest(r)
	}
	group := int64(0)
	if r.Learn {
		group = c.shared.learn.stepOf(r.Group)
	}
	d, named, err := c.guess(r, group)
	if !named {
		if c.learn == nil {
			c.learn = make(map[int]bool)
		}
		c.learn[i] = true
	}
	return d, err
}

// guess returns the definition that a series has before its samples have shown a step. group is the
// step of its group in seconds; 0: it is not known. named says that the policy names the step.
func (s *Sink) guess(r *receivers.Request, group int64) (d *rra.Definition, named bool, err error) {
	x := *r
	x.Define = func(step int64) *rra.Definition {
		named = step != 0
		return r.Define(cmp.Or(step, group))
	}
	d, err = s.Policy().DefineRequest(&x)
	return d, named, err
}

// found fills in a request for a series that exists.
func (c *call) found(r *receivers.Request, ref core.Ref) error {
	series, err := core.SeriesOf(context.Background(), c.store, ref)
	if err != nil {
		return fmt.Errorf("series %q: %w", r.Path, err)
	}
	r.Ref, r.Definition = ref, series.Definition
	return nil
}

// create makes the series of c.specs, and fills in their requests. Series that are made are taken
// out of c.granted.
func (c *call) create(ctx context.Context) error {
	out := make([]core.Created, 0, len(c.specs))
	var err error
	for part := range slices.Chunk(c.specs, core.MaxBatch) {
		var made []core.Created
		if made, err = c.store.CreateBatch(ctx, part); err != nil {
			break
		}
		out = append(out, made...)
	}
	if err != nil {
		for i, made := range out { // earlier parts
			if made.Err == nil {
				c.granted[c.reqs[c.specOf[i]].Sender]--
				c.made.Add(1)
			}
		}
		return fmt.Errorf("create %d series: %w", len(c.specs), err)
	}
	count, last := make(map[string]int, 1), make(map[string]*receivers.Request, 1) // by sender
	debug := c.o.Logger.Enabled(ctx, slog.LevelDebug)
	for i, made := range out {
		r := &c.reqs[c.specOf[i]]
		switch {
		case made.Err == nil:
			r.Ref, r.Made, r.Definition = made.Ref, true, c.specs[i].Definition
			c.granted[r.Sender]--
			c.made.Add(1)
			if debug {
				c.o.Logger.Debug("series made", "path", r.Path, "sender", r.Sender, "step", r.Definition.Step)
			}
			last[r.Sender] = r
			count[r.Sender]++
		case errors.Is(made.Err, core.ErrExists):
			r.Err = c.found(r, made.Ref)
		case errors.Is(made.Err, core.ErrUnavailable):
			r.Err = made.Err
		default:
			r.Err = made.Err
			c.refused.count(made.Err)
		}
	}
	for sender, r := range last {
		c.heard.made(r, count[sender])
	}
	return nil
}

// relabel gives the series of c.relabels their labels.
func (c *call) relabel(ctx context.Context) error {
	errs, err := c.store.Relabel(ctx, c.relabels)
	if err != nil {
		return fmt.Errorf("labels of %d series: %w", len(c.relabels), err)
	}
	for i, err := range errs {
		c.reqs[c.relabelOf[i]].Err = err
	}
	return nil
}
