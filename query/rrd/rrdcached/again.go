package rrdcached

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// A series that is altered or overwritten is another from then on. Samples of the one that was are
// stored in the one that is.

// maxAgain is how often that is tried for samples whose series goes on changing.
const maxAgain = 50

// inOrder is called before samples of e are put into a group. Where e has taken the place of a
// name's former series, samples of that may be on their way: they come first.
func (c *conn) inOrder(e *entry) {
	if e.born <= c.drops {
		return
	}
	drops := c.s.cache.drops.Load()
	c.settle()
	c.drops = drops
}

// storeAgain stores the samples of requests whose series has ended.
func (c *conn) storeAgain(g *group, ended []int) {
	for range maxAgain {
		if len(ended) == 0 {
			return
		}
		ended = c.again(g, ended)
	}
	for _, i := range ended {
		g.slots[i].answer = failure(core.ErrNotFound.Error())
	}
}

// again stores the samples of requests whose series has ended: under its name there may be another
// by now. It returns those whose series has ended once more, each once, in order.
func (c *conn) again(g *group, ended []int) (more []int) {
	var b core.Batch
	b.Rejections = maxSamples
	var owner []int
	now := make(map[string]*entry)    // by name; nil: none that is of use
	slots := make(map[int32]struct{}) // that are stored again
	for _, i := range slices.Compact(ended) {
		s := &g.slots[i]
		e, asked := now[s.e.raw]
		var err error
		if !asked {
			c.s.cache.drop(s.e)
			e, err = c.s.lookup([]byte(s.e.raw))
			now[s.e.raw] = e
		}
		switch {
		case e == nil:
			err = cmp.Or(err, core.ErrNotFound)
		case !slices.Equal(e.kinds, s.e.kinds):
			err = core.ErrShape // its samples were read as another's
		}
		if err != nil {
			s.answer = failure(c.s.noFile(wire.Unescape([]byte(s.e.raw)), err))
			continue
		}
		s.e = e
		slots[int32(i)] = struct{}{}
	}
	n := -1
	for x := range g.batch.All() {
		n++
		if _, ok := slots[g.owner[n]]; !ok {
			continue
		}
		i := int(g.owner[n])
		values, texts := slices.Clone(x.Values), []string(nil)
		for j := range values {
			if v := &values[j]; v.Tag >= rra.TagText {
				texts = append(texts, x.Texts[v.Bits])
				v.Bits = uint64(len(texts) - 1)
			}
		}
		b.AddText(g.slots[i].e.ref, x.At, values, texts)
		if len(owner) > 0 && owner[len(owner)-1] == i {
			b.Follow()
		}
		owner = append(owner, i)
	}
	err := c.s.o.Store.Append(c.s.life, &b)
	rejected, ok := errors.AsType[*core.RejectedError](err)
	switch {
	case err == nil:
	case !ok:
		for _, i := range owner {
			g.slots[i].answer = failure(err.Error())
		}
	default:
		for _, r := range rejected.First {
			i := owner[r.Index]
			if errors.Is(r.Err, core.ErrNotFound) {
				more = append(more, i)
			} else {
				g.slots[i].answer = failure(g.why(-1, r.Err))
			}
		}
	}
	return more
}
