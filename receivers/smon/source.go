package smon

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A source is one stream, of a connection or a file, on its way to the sink. Values wait until the
// bytes of one read are decoded. Then missing references are asked for together, and all values are
// handed over in order.
type source struct {
	s      *server
	peer   string
	host   string           // whom new series are counted against
	queue  *receivers.Queue // of a file; nil: all connections share the server's
	dec    Decoder
	refs   cache
	gen    uint64 // generation of the references
	held   int    // bytes counted in server.held
	series int64  // series counted in Counters.Series

	values   []value
	asked    []uint32 // entries whose reference is to be asked for
	texts    texts
	elements uint64           // decoded and not counted yet
	fault    *receivers.Error // why the stream is invalid, until that is logged

	ctx    context.Context        // during decode, as is in
	in     io.Reader              // the connection or file
	at     rra.Time               // when the bytes at hand were read
	second uint32                 // the same in seconds since 1970
	tick   uint32                 // the same in ticks
	add    func(*receivers.Queue) // addTo, made once
	one    [1]rra.Value
}

// A value is a number that waits.
type value struct {
	entry uint32 // number of its entry in refs
	v     uint64
}

// How many bytes of memory streams may take: for names, texts and references. One stream may take
// about 32 MiB.
const (
	maxHeld     = 256 << 20 // all streams together
	maxHostHeld = 64 << 20  // the streams of one address
)

const (
	keptBytes   = 16 << 20 // bytes of references and of places of texts
	resolveMost = 256      // series that are asked for together
)

func (s *server) newSource(peer, host string) *source {
	c := &source{s: s, peer: peer, host: host, texts: texts{seed: s.seed}}
	c.add = c.addTo
	return c
}

// decode reads a stream to its end.
func (c *source) decode(ctx context.Context, in io.Reader) error {
	c.ctx, c.in = ctx, in
	return c.dec.Decode(c, c)
}

// Read hands over what was decoded of the bytes before, and then reads more.
func (c *source) Read(p []byte) (int, error) {
	c.flush()
	if !c.dec.clean {
		c.report()
	}
	c.s.Packets.Add(c.elements)
	c.elements = 0
	if err := c.count(); err != nil {
		return 0, err
	}
	if skipped, _ := c.dec.Skipped(); skipped > skipBytes && c.queue == nil {
		return 0, errNonsense
	}
	n, err := c.in.Read(p)
	now := c.s.cfg.Now()
	c.at, c.second, c.tick = timeOf(now), uint32(now.Unix()), c.s.asks.Tick(now)
	if gen := c.generation(); gen != c.gen {
		c.gen = gen
		c.forget()
	}
	return n, err
}

// timeOf returns the time of values that were read at t: t cut to milliseconds. Whole seconds would
// make the rates of a sender that is not exactly on time wrong by a tenth, and would lose values
// that come twice a second. Microseconds would make the rows of gauges more than twice as large.
// docs/wire/smon.md compares the three.
func timeOf(t time.Time) rra.Time { return rra.Time(t.UnixMilli() * 1000) }

func (c *source) generation() uint64 {
	if c.queue != nil {
		if c.queue.Stale() {
			return c.gen + 1
		}
		return c.gen
	}
	return c.s.queue.Generation()
}

// count updates the counts of memory and series. The error says that all streams together take too
// much memory: this one is invalid then.
func (c *source) count() (err error) {
	if !c.hold(c.dec.Size() + c.refs.size() + c.texts.held) {
		err = &receivers.Error{Reason: receivers.Limit, What: "the streams of all senders, or of this address, hold too much"}
		c.forget()
		c.refs = cache{}
	}
	if n := c.refs.refs; n != c.series {
		c.s.Series.Add(n - c.series)
		c.series = n
	}
	return err
}

// hold counts the n bytes that the stream holds now, if that is within the limits.
func (c *source) hold(n int) bool {
	if n > c.held && !c.s.held.Take(c.host, int64(n-c.held)) {
		return false
	}
	if n < c.held {
		c.s.held.Give(c.host, int64(c.held-n))
	}
	c.held = n
	return true
}

// release ends the stream and frees what it holds.
func (c *source) release() {
	c.report()
	if c.dec.Pending() > 0 {
		c.s.Drop(receivers.Truncated, 1) // connections break: no line for it
	}
	c.hold(0)
	c.s.Series.Add(-c.series)
}

// Declare is Handler's.
func (c *source) Declare(*Token) {}

// Unsigned is Handler's.
func (c *source) Unsigned(t *Token, index []uint64, v uint64) {
	c.elements++
	i := c.find(t, index)
	if e := &c.refs.entries[i]; !e.asked && e.Due(c.tick) {
		e.asked = true
		c.asked = append(c.asked, i)
	}
	c.values = append(c.values, value{i, v})
}

// find returns the entry of a token at an index.
func (c *source) find(t *Token, index []uint64) uint32 {
	i, ok := c.refs.find(t, index)
	if ok {
		return i
	}
	if c.refs.full() || c.refs.size()+c.texts.held > keptBytes {
		c.forget()
	}
	return c.refs.add(t, index)
}

// String is Handler's.
func (c *source) String(t *Token, index []uint64, text []byte) {
	c.elements++
	i, ok := c.refs.find(t, index)
	if !ok {
		i = c.find(t, index)
		c.refs.entries[i].place = c.texts.place(Identify(c.peer, t, index).Path)
	}
	c.texts.say(c.refs.entries[i].place, t, text, c.second)
	if c.texts.size > queuedTexts {
		c.flush()
	}
}

// Invalid is Handler's. The error is logged once it is clear that the bytes are not a reset between
// two elements.
func (c *source) Invalid(err *receivers.Error) {
	c.forget()
	c.fault = err
}

// Reset is Handler's.
func (c *source) Reset() {
	c.forget()
	if c.dec.clean {
		c.fault = nil
	}
	c.report()
}

// report counts and logs the error that has made the stream invalid.
func (c *source) report() {
	err := c.fault
	if err == nil {
		return
	}
	c.fault = nil
	c.s.Drop(err.Reason, 1)
	c.s.lines.Log(c.s.cfg.Logger.Warn, c.host, c.s.cfg.Now(), "smon: stream is skipped until a reset", "peer", c.peer, "offset", err.Offset, "err", err)
}

// forget hands over values and texts that wait, and forgets all references.
func (c *source) forget() {
	c.flush()
	c.refs.clear()
	c.texts.clear()
}

// flush hands over values and texts that wait.
func (c *source) flush() {
	if len(c.values) == 0 && len(c.texts.said) == 0 {
		return
	}
	for asked := range slices.Chunk(c.asked, resolveMost) {
		c.resolve(asked)
	}
	if c.queue != nil {
		c.addTo(c.queue)
		c.queue.Flush()
	} else {
		c.s.queue.Do(c.add)
	}
	c.asked, c.values = c.asked[:0], c.values[:0]
}

// addTo adds values and texts that wait to q.
func (c *source) addTo(q *receivers.Queue) {
	for i, v := range c.values {
		e := &c.refs.entries[v.entry]
		if e.Ref == 0 {
			c.s.Drop(e.Why, 1)
			continue
		}
		if c.queue != nil && q.Room(c.ctx) != nil {
			// The server is stopping. It does not wait for the rest of a file.
			c.s.Drop(receivers.Overload, uint64(len(c.values)-i))
			break
		}
		c.one[0] = rra.Uint(v.v)
		q.Add(e.Ref, c.at, c.one[:])
	}
	c.texts.describe(q, c.host, c.at, c.second)
}

// resolve makes the sink find or make the series of entries.
func (c *source) resolve(entries []uint32) {
	reqs := make([]receivers.Request, len(entries))
	for k, i := range entries {
		reqs[k] = c.request(&c.refs.entries[i])
	}
	_ = c.s.asks.Resolve(c.ctx, reqs) // it is logged, and addTo counts what it costs
	for k, i := range entries {
		e := &c.refs.entries[i]
		e.asked, e.Series = false, reqs[k].Series(c.tick)
		if e.Ref != 0 {
			c.refs.refs++
		}
	}
}

func (c *source) request(e *entry) receivers.Request {
	t := e.token
	return receivers.Request{
		Identity: Identify(c.peer, t, c.refs.at(e)),
		Sender:   c.host,
		Time:     c.at,
		Widen:    true,
		Define: func(step int64) *rra.Definition {
			return define(c.s.set.kinds.of(t.Name), cmp.Or(step, c.s.set.step))
		},
	}
}
