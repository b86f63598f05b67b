package smon

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/rra"
)

// A source is one stream, of a connection or a file, on its way to the sink. Values wait until the
// bytes of one read are decoded. Then missing references are asked for together, and all values are
// handed over in order.
type source struct {
	*streams.Stream
	s      *server
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

	ctx    context.Context        // during decode
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

func (s *server) newSource(st *streams.Stream) *source {
	c := &source{s: s, Stream: st, texts: texts{seed: s.seed}}
	c.add = c.addTo
	return c
}

// decode reads a stream to its end.
func (c *source) decode(ctx context.Context) error {
	c.ctx = ctx
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
	if skipped, _ := c.dec.Skipped(); skipped > skipBytes && c.Conn != nil {
		return 0, errNonsense
	}
	n, err := c.Stream.Read(p)
	now := c.s.Config.Now()
	c.at, c.second, c.tick = timeOf(now), uint32(now.Unix()), c.s.Asks.Tick(now)
	if gen := c.Queue.Generation(); gen != c.gen {
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
	if n > c.held && !c.s.held.Take(c.Host, int64(n-c.held)) {
		return false
	}
	if n < c.held {
		c.s.held.Give(c.Host, int64(c.held-n))
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
		c.refs.entries[i].place = c.texts.place(Identify(c.Peer, t, index).Path)
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
	c.s.Lines.Log(c.s.Config.Logger.Warn, c.Host, c.s.Config.Now(), "smon: stream is skipped until a reset", "peer", c.Peer, "offset", err.Offset, "err", err)
}

// forget hands over values and texts that wait, and forgets all references.
func (c *source) forget() {
	c.flush()
	c.refs.clear()
	c.texts.clear()
}

// flush hands over values and texts that wait.
func (c *source) flush() {
	if len(c.values) == 0 && len(c.texts.waiting) == 0 {
		return
	}
	for asked := range slices.Chunk(c.asked, resolveMost) {
		c.resolve(asked)
	}
	c.Queue.Do(c.add)
	c.asked, c.values = c.asked[:0], c.values[:0]
}

// addTo adds values and texts that wait to q.
func (c *source) addTo(q *receivers.Queue) {
	for _, v := range c.values {
		e := &c.refs.entries[v.entry]
		if e.Ref == 0 {
			c.s.Drop(e.Why, 1)
			continue
		}
		c.one[0] = rra.Uint(v.v)
		q.Add(e.Ref, c.at, c.one[:])
	}
	c.texts.describe(q, c.Host, c.at, c.second)
}

// resolve makes the sink find or make the series of entries.
func (c *source) resolve(entries []uint32) {
	reqs := make([]receivers.Request, len(entries))
	for k, i := range entries {
		reqs[k] = c.request(&c.refs.entries[i])
	}
	_ = c.s.Asks.Resolve(c.ctx, reqs) // it is logged, and addTo counts what it costs
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
		Identity: Identify(c.Peer, t, c.refs.at(e)),
		Sender:   c.Host,
		Time:     c.at,
		Widen:    true,
		Define: func(step int64) *rra.Definition {
			return define(c.s.set.kinds.of(t.Name), cmp.Or(step, c.s.set.step))
		},
	}
}
