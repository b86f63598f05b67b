package rrdcached

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// A series that is altered or overwritten gets another reference. Samples that were submitted for
// the former reference are refused by the store, and then stored under the new one.

// storeAgain stores the samples of requests whose series has ended. It repeats that up to maxAgain
// times, for series that are altered again and again.
func (c *conn) storeAgain(g *burst, ended []int) {
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

// again stores the samples of requests whose series has ended in the series that have their names
// now. It returns the requests whose series has ended once more, each once, in order.
func (c *conn) again(g *burst, ended []int) (more []int) {
	b, owner := g.batchOf(c.lookAgain(g, ended))
	err := c.s.o.Store.Append(c.s.life, b)
	if err == nil {
		return nil
	}
	missing, rejected := missingOf(err, len(owner))
	for i := range missing {
		g.slots[owner[i]].answer = failure(reason(err).Error())
	}
	for _, r := range rejected {
		i := owner[r.Index]
		if errors.Is(r.Err, core.ErrNotFound) {
			more = append(more, i)
		} else {
			g.slots[i].answer = failure(g.why(-1, r.Err))
		}
	}
	return more
}

// lookAgain looks up the names of requests whose series has ended. It returns the slots of the
// requests that have a series again, and answers the others.
func (c *conn) lookAgain(g *burst, ended []int) (found map[int32]struct{}) {
	found = make(map[int32]struct{})
	now := make(map[string]*alias) // by name; nil: no series
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
			err = core.ErrShape // the samples were read for the data sources of the former series
		}
		if err != nil {
			s.answer = failure(c.s.noFile(wire.Unescape([]byte(s.e.raw)), err))
			continue
		}
		s.e = e
		found[int32(i)] = struct{}{}
	}
	return found
}

// batchOf returns a batch of the samples of some slots, for the series that the slots have now,
// and the slot of each sample.
func (g *burst) batchOf(slots map[int32]struct{}) (b *core.Batch, owner []int) {
	b = &core.Batch{Rejections: maxSamples}
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
	return b, owner
}
