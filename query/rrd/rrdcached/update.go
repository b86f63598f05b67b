package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
)

// UPDATE has two parsers. The fast one reads what nearly every line is, a known name, whole seconds
// and plain numbers, without allocation. The slow one reads everything else, word by word. Both go
// through the words in order, so that the slow one can continue where the fast one has stopped.

// isUpdate reports whether a line begins with UPDATE and a blank.
func isUpdate(line []byte) bool {
	const letters, lower = 0x00ff_ffff_ffff_ffff, 0x0000_2020_2020_2020
	const word = 'u' | 'p'<<8 | 'd'<<16 | 'a'<<24 | 't'<<32 | 'e'<<40 | ' '<<48
	return len(line) > 7 && (binary.LittleEndian.Uint64(line)&letters|lower) == word
}

// guess returns the alias of the name that args begin with, or nil if finding it would need the
// slow parser. It tries the successor of the last name first.
func (c *conn) guess(args []byte) *alias {
	if c.last != nil {
		if e := c.last.next.Load(); e != nil {
			if n := len(e.raw); len(args) > n && args[n] == ' ' && string(args[:n]) == e.raw && !e.ended.Load() {
				return e
			}
		}
	}
	name, _, ok := bytes.Cut(args, blank)
	if !ok {
		return nil
	}
	return c.follow(c.s.cache.get(name))
}

// follow makes e the successor of the last alias.
func (c *conn) follow(e *alias) *alias {
	if e != nil && c.last != nil && c.last.next.Load() != e {
		c.last.next.Store(e)
	}
	return e
}

// update reads the words behind UPDATE into the burst.
func (c *conn) update(args []byte) {
	if len(c.unknown) == 0 { // else the request may have to wait for its series
		if e := c.guess(args); e != nil {
			c.last = e
			c.samples(e, args[len(e.raw)+1:], true)
			return
		}
	}
	c.updateSlow(args, true)
}

// updateSlow is update for a name that has to be looked up.
func (c *conn) updateSlow(args []byte, has bool) {
	r := request{args: wire.UntilZero(args), has: has}
	raw, ok := r.nextRaw()
	if !ok {
		c.usage(&commands[cmdUpdate])
		return
	}
	if c.waits(raw) {
		c.postpone(raw, r)
		return
	}
	e, err := c.s.lookupBy(raw, c.s.o.Store.Lookup)
	if errors.Is(err, core.ErrNotFound) && (c.s.o.Make != nil || c.s.o.Adopt) && r.has {
		c.postpone(raw, r)
		return
	}
	if err != nil {
		c.fail(&commands[cmdUpdate], c.s.noFile(wire.Unescape(raw), err))
		return
	}
	c.last = c.follow(e)
	c.samples(e, r.args, r.has)
}

// samples reads samples of e into a new slot of the burst. Samples that do not fit the data sources
// of e are read once more for the series that has its name now, if that is another one.
func (c *conn) samples(e *alias, args []byte, has bool) {
	c.inOrder(e)
	c.slot("")
	c.burst.fill(e, request{args: args, has: has})
	if s := &c.burst.slots[c.burst.cur]; s.answer == "" || s.stored > 0 || !c.s.hasEnded(e) {
		return
	}
	c.burst.unslot()
	c.s.cache.drop(e)
	now, err := c.s.lookup([]byte(e.raw))
	if err != nil {
		c.fail(&commands[cmdUpdate], c.s.noFile(wire.Unescape([]byte(e.raw)), err))
		return
	}
	c.last = c.follow(now)
	c.inOrder(now)
	c.slot("")
	c.burst.fill(now, request{args: args, has: has})
}

// hasEnded reports whether the series of e is known to have ended.
func (s *Server) hasEnded(e *alias) bool {
	_, err := core.SeriesOf(context.Background(), s.o.Store, e.ref)
	return errors.Is(err, core.ErrNotFound)
}

// inOrder is called before samples of e are put into a burst. If e has replaced a former series of
// its name, samples for that one may be in flight, and inOrder waits until they are stored.
func (c *conn) inOrder(e *alias) {
	if e.born <= c.drops {
		return
	}
	drops := c.s.cache.drops.Load()
	if e.ended.Load() {
		drops = e.born // the alias that replaces e has to wait for the samples of e
	}
	c.drain()
	c.drops = drops
}

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
