package graphite

import (
	"context"
	"math"

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
	if len(c.unknown) > 0 {
		c.resolve(ctx)
		c.queue.Do(c.addNews)
	}
	c.points, c.marks, c.unknown = c.points[:0], c.marks[:0], c.unknown[:0]
}

// addTo adds the points of series that are known to q. Nobody else uses the cache meanwhile.
func (c *source) addTo(q *receivers.Queue) {
	k := c.cache
	if gen := c.queue.Generation(); gen != c.generation {
		c.generation = gen
		k.clear()
	}
	k.Lose() // another sender's name was found last
	for i := range c.points {
		p := &c.points[i]
		if p.Time < 2 || p.Time > c.latest {
			c.Drop(receivers.State, 1)
			continue
		}
		e := k.find(p.Name)
		switch {
		case e != nil && e.Ref != 0:
			c.store(q, e, p)
		case e == nil || e.Due(c.tick):
			c.unknown = append(c.unknown, i)
		default:
			c.Drop(e.Why, 1)
		}
	}
}

// retryMalformed is how many seconds the values of a name that is wrong are dropped unread.
const retryMalformed = 60

// addNews adds the points whose series have been asked for to q, and remembers the series.
func (c *source) addNews(q *receivers.Queue) {
	k := c.cache
	k.Lose() // another sender's name was found last
	for _, i := range c.unknown {
		p := &c.points[i]
		if _, asked := c.news.Index(string(p.Name)); !asked {
			_, err := ParseName(p.Name)
			c.bad(&receivers.Error{Reason: receivers.Malformed, What: err.Error()}, p.Name)
			k.set(p.Name, receivers.Series{Why: receivers.Malformed, Retry: c.tick + retryMalformed})
		}
	}
	c.news.Replay(&c.Counters, func(i *int, _ int, r *receivers.Request) {
		p := &c.points[*i]
		x := r.Series(c.tick)
		k.set(p.Name, x)
		if x.Ref != 0 {
			c.store(q, &x, p)
		}
	})
	c.Series.Store(k.refs)
}

// store adds a point to q. COUNTER and DERIVE, which the policy may say, take whole numbers only.
func (c *source) store(q *receivers.Queue, x *receivers.Series, p *Point) {
	c.value[0] = rra.Float(p.Value)
	if x.Kind == rra.Counter || x.Kind == rra.Derive {
		if p.Value != math.Trunc(p.Value) || math.Abs(p.Value) > decimal.Exact {
			c.Drop(receivers.State, 1)
			return
		}
		c.value[0] = rra.Int(int64(p.Value))
	}
	q.Add(x.Ref, rra.Seconds(p.Time), c.value[:])
}
