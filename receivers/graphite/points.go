package graphite

import (
	"context"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
	"github.com/rondo-db/rondo/rra"
)

// flush hands over the points that wait.
func (c *source) flush(ctx context.Context) {
	if len(c.points) == 0 {
		return
	}
	c.queue.Do(c.addTo)
	if len(c.news) > 0 {
		c.resolve(ctx)
		c.queue.Do(c.addNews)
		clear(c.results)
	}
	c.points, c.marks, c.news = c.points[:0], c.marks[:0], c.news[:0]
}

// addTo adds the points of series that are known to q. Nobody else uses the cache meanwhile.
func (c *source) addTo(q *receivers.Queue) {
	k := c.cache
	if gen := c.queue.Generation(); gen != c.generation {
		c.generation = gen
		k.clear()
	}
	k.begin(c.at)
	for i := range c.points {
		p := &c.points[i]
		if p.Time < 2 || p.Time > c.latest {
			c.Drop(receivers.State, 1)
			continue
		}
		e := k.find(p.Name)
		switch {
		case e == nil || e.ref == 0 && c.second >= int64(e.retry):
			c.news = append(c.news, i)
		case e.ref == 0:
			c.Drop(e.why, 1)
		default:
			c.store(q, e.ref, e.kind, p)
		}
	}
	c.at = k.end()
}

// addNews adds the points whose series have been asked for to q, and remembers the series.
func (c *source) addNews(q *receivers.Queue) {
	k := c.cache
	k.begin(c.at)
	for _, i := range c.news {
		p := &c.points[i]
		x, asked := c.results[string(p.Name)]
		switch {
		case !asked:
			c.Drop(receivers.Overload, 1) // during a pause
			continue
		case x.ref == 0:
			c.Drop(x.why, 1)
		default:
			c.store(q, x.ref, x.kind, p)
		}
		k.set(p.Name, x)
	}
	c.at = k.end()
	c.Series.Store(k.refs)
}

// store adds a point to q. COUNTER and DERIVE, which the policy may say, take whole numbers only.
func (c *source) store(q *receivers.Queue, ref core.Ref, kind rra.Kind, p *Point) {
	c.value[0] = rra.Float(p.Value)
	if kind == rra.Counter || kind == rra.Derive {
		if p.Value != math.Trunc(p.Value) || math.Abs(p.Value) > decimal.Exact {
			c.Drop(receivers.State, 1)
			return
		}
		c.value[0] = rra.Int(int64(p.Value))
	}
	q.Add(ref, rra.Seconds(p.Time), c.value[:])
}
