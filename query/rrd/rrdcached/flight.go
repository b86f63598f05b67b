package rrdcached

import (
	"slices"
	"strconv"
)

// submit hands the burst to the engine. If too many bursts are in flight then, it waits for the
// first of them.
func (c *conn) submit() {
	g := c.burst
	if g == nil {
		return
	}
	c.resolve()
	c.burst = nil
	if g.batch.Len() > 0 {
		g.ticket.Notify(c.wake.done)
		if err := c.s.o.Store.Submit(c.s.life, &g.batch, &g.ticket); err != nil {
			g.refuse(err, g.owner, g.exact)
		} else {
			g.sent = true
		}
	}
	c.flight = append(c.flight, g)
	for len(c.flight) > c.most() {
		c.drainFirst()
	}
}

// most returns how many bursts may be in flight. A connection without a large buffer may have one,
// because it has no room to collect the next.
func (c *conn) most() int {
	if c.large {
		return maxFlight
	}
	return 1
}

// drain submits the burst, waits for all bursts in flight, and answers their requests.
func (c *conn) drain() {
	c.submit()
	for len(c.flight) > 0 {
		c.drainFirst()
	}
}

// drainFirst waits for the first burst in flight and answers its requests.
func (c *conn) drainFirst() {
	g := c.flight[0]
	c.flight = slices.Delete(c.flight, 0, 1)
	if g.sent {
		if err := g.ticket.Wait(); err != nil {
			c.storeAgain(g, g.refuse(err, g.owner, g.exact))
		}
	}
	for i := range g.slots {
		c.answer(&g.slots[i])
	}
	c.s.stats.samples.Add(uint64(len(g.owner)))
	c.s.putBurst(g)
}

func (c *conn) answer(s *slot) {
	failed := len(s.answer) > 0 && s.answer[0] == '-'
	if failed && s.e != nil {
		c.counts[cmdUpdate].errors++
	}
	switch {
	case s.stored == endOfBatch:
		c.endBatch(s.number)
	case s.number >= 0 && failed:
		c.batchError(s.number, s.answer[len("-1 "):])
	case s.number >= 0:
	case s.answer != "":
		c.out = append(append(c.out, s.answer...), '\n')
	default:
		c.out = append(c.out, "0 errors, enqueued "...)
		c.out = strconv.AppendInt(c.out, int64(s.stored), 10)
		c.out = append(c.out, " value(s).\n"...)
	}
}
