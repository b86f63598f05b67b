package peer

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// maxRefs is how many references one question has.
const maxRefs = 1 << 20

// A sought is what a look-up has. With leads only a node that leads the partition for certain is to
// answer.
type sought struct {
	path  string
	leads bool
}

func codeSought(k *coder, x *sought) {
	k.text(&x.path)
	k.flag(&x.leads)
}

var lookup = define("lookup", codeSought, fixed[core.Ref], func(x *call, q *sought, give func(*core.Ref) bool) error {
	if q.leads && x.s.Leads != nil {
		if err := x.s.Leads(int(x.target.partition)); err != nil {
			return err
		}
	}
	ref, err := x.engine.Lookup(q.path)
	give(&ref)
	return err
})

// Lookup is core.Engine's.
func (c *Client) Lookup(path string) (core.Ref, error) { return c.lookup(sought{path, false}) }

// LookupLeading is Lookup for a caller who must know that a series is not there. The error wraps
// core.ErrNotLeader if the node does not lead the partition for certain.
func (c *Client) LookupLeading(path string) (core.Ref, error) { return c.lookup(sought{path, true}) }

func (c *Client) lookup(q sought) (core.Ref, error) {
	ctx, cancel := c.bounded(context.Background())
	defer cancel()
	return lookup.one(ctx, c, q)
}

// A found is an entry of the catalogue.
type found struct {
	index  int // of Resolve: in the references asked for
	series core.Series
	more   bool // of Select: it ends a page, and there may be others behind it
}

func codeFound(k *coder, x *found) {
	number(k, &x.index)
	codeSeries(k, &x.series)
	k.flag(&x.more)
}

var resolve = define("resolve", refs, codeFound, func(x *call, q *[]core.Ref, give func(*found) bool) error {
	var out found
	return x.engine.Resolve(x.ctx, *q, func(i int, s core.Series) bool {
		out.index, out.series = i, s
		return give(&out)
	})
})

func refs(k *coder, x *[]core.Ref) {
	words(k, x, func(r core.Ref) uint64 { return uint64(r) }, func(n uint64) core.Ref { return core.Ref(n) })
}

// Resolve is core.Engine's.
func (c *Client) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	if len(refs) == 1 {
		var cancel context.CancelFunc
		ctx, cancel = c.bounded(ctx)
		defer cancel()
	}
	return resolve.ask(ctx, c, refs, func(x *found) (bool, error) { return fn(x.index, x.series), nil })
}

func codeQuery(k *coder, x *core.Query) {
	k.text(&x.Prefix)
	k.text(&x.After)
	matchers(k, &x.Matchers)
	number(k, &x.Order)
	number(k, &x.Page)
	k.flag(&x.RefsOnly)
}

// selects yields the series of a query, or the first of them if the query says how many are taken.
// A store reports damage at the end, so a store that has met damage yields all of them.
var selects = define("select", codeQuery, codeFound, func(x *call, q *core.Query, give func(*found) bool) error {
	q.Page = max(0, min(q.Page, maxRefs))
	var out found
	n := 0
	for s, err := range x.engine.Select(x.ctx, *q) {
		if err != nil {
			return err
		}
		n++
		out.series, out.more = s, n == q.Page && x.engine.Stats().Damaged == 0
		if !give(&out) || out.more {
			return nil
		}
	}
	return nil
})

// selectRefs is selects for a query of references.
var selectRefs = define("select.refs", codeQuery, refs, func(x *call, q *core.Query, give func(*[]core.Ref) bool) error {
	var out []core.Ref
	for s, err := range x.engine.Select(x.ctx, *q) {
		if err != nil {
			give(&out)
			return err
		}
		if out = append(out, s.Ref); len(out) == listChunk {
			if !give(&out) {
				return nil
			}
			out = out[:0]
		}
	}
	give(&out)
	return nil
})

// Select is core.Engine's. If the query says how many entries the caller takes, the node is asked
// for as many, and for more when the caller goes on.
func (c *Client) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		q, going := q, true
		if q.Order != core.ByPath {
			q.Page = 0
		}
		for more := true; more; q.Page = min(2*q.Page, maxRefs) {
			more = false
			var err error
			if q.RefsOnly {
				err = selectRefs.ask(ctx, c, q, func(x *[]core.Ref) (bool, error) {
					for i := 0; i < len(*x) && going; i++ {
						going = yield(core.Series{Ref: (*x)[i]}, nil)
					}
					return going, nil
				})
			} else {
				err = selects.ask(ctx, c, q, func(x *found) (bool, error) {
					q.After, more = x.series.Path, x.more
					going = yield(x.series, nil)
					return going, nil
				})
			}
			if !going {
				return
			}
			if err != nil {
				yield(core.Series{}, err)
				return
			}
		}
	}
}

func codeLabelQuery(k *coder, x *core.LabelQuery) {
	k.text(&x.Name)
	matchers(k, &x.Matchers)
	number(k, &x.Most)
	k.flag(&x.Combine)
	texts(k, &x.Names)
}

func codeLabels(k *coder, x *core.Labels) {
	texts(k, &x.Texts)
	list(k, &x.Combinations, func(k *coder, x *core.Combination) {
		texts(k, &x.Values)
		k.definition(&x.Definition)
	})
}

var labelsOf = define("labels", codeLabelQuery, codeLabels, func(x *call, q *core.LabelQuery, give func(*core.Labels) bool) error {
	found, err := x.engine.Labels(x.ctx, *q)
	for part := range slices.Chunk(found.Texts, listChunk) {
		give(&core.Labels{Texts: part})
	}
	for part := range slices.Chunk(found.Combinations, listChunk) {
		give(&core.Labels{Combinations: part})
	}
	return err
})

// Labels is core.Engine's.
func (c *Client) Labels(ctx context.Context, q core.LabelQuery) (out core.Labels, err error) {
	err = labelsOf.ask(ctx, c, q, func(x *core.Labels) (bool, error) {
		out.Texts, out.Combinations = append(out.Texts, x.Texts...), append(out.Combinations, x.Combinations...)
		return true, nil
	})
	return out, err
}

func codeInfo(k *coder, x *core.Info) {
	codeSeries(k, &x.Series)
	list(k, &x.State.W, fixed)
	texts(k, &x.State.Text)
}

var info = define("info", fixed[core.Ref], codeInfo, func(x *call, ref *core.Ref, give func(*core.Info) bool) error {
	out, err := x.engine.Info(*ref)
	if err == nil {
		give(&out)
	}
	return err
})

// Info is core.Engine's.
func (c *Client) Info(ref core.Ref) (core.Info, error) {
	ctx, cancel := c.bounded(context.Background())
	defer cancel()
	x, err := info.one(ctx, c, ref)
	if err == nil && x.Definition == nil {
		err = malformed("a series without a definition")
	}
	if err == nil {
		x.Machine, err = rra.Compile(x.Definition)
	}
	if err != nil {
		return core.Info{}, err
	}
	return x, nil
}

func codeChange(k *coder, x *core.Change) {
	k.text(&x.Was)
	k.text(&x.Path)
	fixed(k, &x.Ref)
	labels(k, &x.Labels)
	k.flag(&x.Metadata)
}

// watchEvery is how often a Watch looks for changes.
const watchEvery = 20 * time.Millisecond

// watch sends the changes of the catalogue as they come, until one is missing. An empty one in
// front says that it has begun.
var watch = define("watch", number[int], codeChange, func(x *call, most *int, give func(*core.Change) bool) error {
	w := x.engine.Watch(*most)
	defer w.End()
	give(new(core.Change))
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for going := x.flush(); going; {
		select {
		case <-x.ctx.Done():
			return x.ctx.Err()
		case <-tick.C:
		}
		changes, complete := w.Take()
		for i := range changes {
			give(&changes[i])
		}
		going = complete && (len(changes) == 0 || x.flush())
	}
	return nil
})

// Watch is core.Engine's. It returns when the partition has begun to collect.
func (c *Client) Watch(most int) *core.Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := core.CollectWatch(most, cancel)
	begun := make(chan struct{})
	go func() {
		defer cancel()
		first := true
		// Whatever ends it: changes may be missing.
		_ = watch.ask(ctx, c, most, func(x *core.Change) (bool, error) {
			if first {
				first = false
				close(begun)
			} else {
				w.Add(*x)
			}
			return true, nil
		})
		if w.Lose(); first {
			close(begun)
		}
	}()
	limit := time.NewTimer(c.node.o.Timeout)
	defer limit.Stop()
	select {
	case <-begun:
	case <-limit.C:
		w.End()
	}
	return w
}
