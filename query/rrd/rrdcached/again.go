package rrdcached

import (
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// A series that is altered or overwritten gets another reference. Samples that were submitted for
// the former reference are refused by the store, and then stored under the new one.

// storeAgain stores the samples of requests whose series has ended. It repeats that up to maxAgain
// times, for series that are altered again and again.
func (c *conn) storeAgain(g *burst, ended []int32) {
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
func (c *conn) again(g *burst, ended []int32) (more []int32) {
	b, owner := g.batchOf(c.lookAgain(g, ended))
	if err := core.Append(c.s.life, c.s.o.Store, b); err != nil {
		return g.refuse(err, owner, nil)
	}
	return nil
}

// lookAgain looks up the names of requests whose series has ended. It returns the slots of the
// requests that have a series again, and answers the others.
func (c *conn) lookAgain(g *burst, ended []int32) (found map[int32]struct{}) {
	found = make(map[int32]struct{})
	type outcome struct {
		e   *alias
		err error
	}
	now := make(map[string]outcome) // by name
	for _, i := range slices.Compact(ended) {
		s := &g.slots[i]
		x, asked := now[s.e.raw]
		if !asked {
			c.s.cache.drop(s.e)
			x.e, x.err = c.s.lookup([]byte(s.e.raw))
			now[s.e.raw] = x
		}
		if x.err != nil {
			s.answer = failure(c.s.noFile(wire.Unescape([]byte(s.e.raw)), x.err))
			continue
		}
		s.e = x.e
		found[i] = struct{}{}
	}
	return found
}

// batchOf returns a batch of the samples of some slots, for the series that the slots have now,
// and the slot of each sample. It answers the slots whose samples do not fit these series.
func (g *burst) batchOf(slots map[int32]struct{}) (b *core.Batch, owner []int32) {
	b = &core.Batch{Rejections: maxSamples}
	n := -1
	for x := range g.batch.All() {
		n++
		i := g.owner[n]
		if _, ok := slots[i]; !ok {
			continue
		}
		s := &g.slots[i]
		values, texts, err := reread(&x, s.e.kinds)
		if err != nil {
			s.answer = failure(err.Error())
			delete(slots, i)
			continue
		}
		b.AddText(s.e.ref, x.At, values, texts)
		if len(owner) > 0 && owner[len(owner)-1] == i {
			b.Follow()
		}
		owner = append(owner, i)
	}
	return b, owner
}

// reread reads the readings of a sample, which were read for data sources of the former series,
// anew for data sources of some kinds: from their texts, which the readings still have.
func reread(x *core.BatchSample, kinds []rra.Kind) (values []rra.Value, texts []string, err error) {
	for i, v := range x.Values {
		text := []byte(rra.FormatReading(v, x.Texts))
		if v.Tag >= rra.TagText {
			text = []byte(x.Texts[v.Bits]) // all of it
		}
		if i == len(kinds) {
			return nil, nil, tooMany(text)
		}
		values = append(values, rra.ParseReading(kinds[i], text, &texts))
	}
	if len(values) < len(kinds) {
		when := strings.TrimSuffix(strings.TrimRight(seconds(x.At), "0"), ".")
		return nil, nil, tooFew(len(kinds), len(values), []byte(when))
	}
	return values, texts, nil
}
