package smon

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A source is one stream on its way to the sink: a connection or a file. Values wait until the bytes that
// were read at once are decoded; then the references that are missing are asked for together, and all values
// are handed over in order.
type source struct {
	s      *server
	peer   string
	host   string           // whom new series are counted against
	queue  *receivers.Queue // of a file; nil: all connections share the server's
	dec    Decoder
	refs   cache
	gen    uint64 // generation of the references
	held   int    // what is counted in server.held
	series int64  // what is counted in Counters.Series

	values   []value
	asked    []uint32 // entries whose reference is to be asked for
	texts    []saying
	textSize int // bytes in texts
	elements uint64

	ctx    context.Context // during feed
	at     rra.Time        // when what is being fed was read
	second uint32          // of that
	pause  time.Time       // until then no references are asked for
	add    func(*receivers.Queue)
	one    [1]rra.Value
}

type value struct {
	entry uint32
	v     uint64
}

// A saying is a text that waits.
type saying struct {
	entry uint32
	text  []byte
}

const (
	keptText     = 16 << 10  // bytes of a text that are kept to be shown
	queuedTexts  = 256 << 10 // bytes of texts that wait; then they are handed over
	idleTexts    = 32 << 10  // bytes of room for texts that a source keeps
	textsMost    = 1024      // and the number of them
	sameTextWait = 60        // seconds after which a text that is the same is handed over again

	resolveMost    = 256             // series asked for together
	resolveTimeout = 2 * time.Second // how long that may hold up the reading
	resolvePause   = time.Second     // before the next, after one that failed
	retryLimit     = 10              // seconds before a series over a limit is tried again
	retryOther     = 60              // seconds before one that was refused for another reason is
)

func (s *server) newSource(peer, host string) *source {
	c := &source{s: s, peer: peer, host: host}
	c.add = c.addTo
	return c
}

// feed takes what was read at once.
func (c *source) feed(ctx context.Context, b []byte) {
	now := c.s.cfg.Now()
	c.ctx, c.at, c.second = ctx, timeOf(now), uint32(now.Unix())
	if gen := c.generation(); gen != c.gen {
		c.gen = gen
		c.forget()
	}
	c.dec.Decode(b, c)
	c.flush()
	c.s.Packets.Add(c.elements)
	c.elements = 0
	c.count()
}

// timeOf is the time of values read at t, cut to milliseconds. Finer times would make the averages of whole numbers,
// which most values are, fractions that take three times the space; whole seconds would make the rates of a sender that is
// not exactly on time wrong by a tenth, and lose what comes twice a second.
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

// count counts what the stream holds now. Where all streams hold too much, this one ends.
func (c *source) count() {
	held := c.dec.Size() + c.refs.size()
	if held != c.held {
		ok := c.s.held.add(c.host, held-c.held)
		c.held = held
		if !ok {
			c.dec.Refuse()
			c.Invalid(&receivers.Error{Reason: receivers.Limit, What: "the streams of all senders, or of this address, hold too much"})
			c.refs = cache{}
			c.count()
		}
	}
	if n := c.refs.refs; n != c.series {
		c.s.Series.Add(n - c.series)
		c.series = n
	}
}

// release ends the stream.
func (c *source) release() {
	if c.dec.Pending() > 0 {
		c.s.Drop(receivers.Truncated, 1) // connections break: no line for it
	}
	c.s.held.add(c.host, -c.held)
	c.s.Series.Add(-c.series)
}

// Declare is Handler's.
func (c *source) Declare(*Token) {}

// Unsigned is Handler's.
func (c *source) Unsigned(t *Token, index []uint64, v uint64) {
	c.elements++
	i := c.find(t, index)
	if e := &c.refs.entries[i]; e.ref == 0 && !e.asked && c.second >= e.due {
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
	if c.refs.full() {
		c.forget()
	}
	return c.refs.add(t, index)
}

// String is Handler's. What is long is cut where it is kept, at its end.
func (c *source) String(t *Token, index []uint64, text []byte) {
	c.elements++
	i := c.find(t, index)
	e := &c.refs.entries[i]
	if e.text == 0 {
		if e.said != 0 && e.seen == t.changes && c.second < e.due {
			return
		}
		e.text = c.newSaying(i)
	}
	e.seen = t.changes
	s := &c.texts[e.text-1]
	text = text[:min(len(text), keptText)]
	c.textSize += len(text) - len(s.text)
	s.text = append(s.text[:0], text...)
	if c.textSize > queuedTexts {
		c.flush()
	}
}

// newSaying makes room for a text of an entry, where an earlier one has left some if there is.
func (c *source) newSaying(entry uint32) uint32 {
	if len(c.texts) < cap(c.texts) {
		c.texts = c.texts[:len(c.texts)+1]
	} else {
		c.texts = append(c.texts, saying{})
	}
	s := &c.texts[len(c.texts)-1]
	s.entry, s.text = entry, s.text[:0]
	return uint32(len(c.texts))
}

// Invalid is Handler's.
func (c *source) Invalid(err *receivers.Error) {
	c.forget()
	c.s.Drop(err.Reason, 1)
	if ok, held := c.s.lines.Allow(c.host, c.s.cfg.Now()); ok {
		c.s.cfg.Logger.Warn("smon: stream is skipped until a reset", "peer", c.peer, "offset", err.Offset, "err", err, "held_back_lines", held)
	}
}

// Reset is Handler's.
func (c *source) Reset() { c.forget() }

// forget hands over what waits, and forgets all references.
func (c *source) forget() {
	c.flush()
	c.refs.clear()
}

// flush hands over what waits.
func (c *source) flush() {
	if len(c.values) == 0 && len(c.texts) == 0 {
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
	if c.textSize > idleTexts || len(c.texts) > textsMost {
		c.texts = nil
	}
	c.texts, c.textSize = c.texts[:0], 0
}

// addTo adds what waits to q.
func (c *source) addTo(q *receivers.Queue) {
	for _, v := range c.values {
		e := &c.refs.entries[v.entry]
		if e.ref == 0 {
			c.s.Drop(e.why, 1)
			continue
		}
		if c.queue != nil && q.Room(c.ctx) != nil {
			break // what a file holds can wait; the server cannot
		}
		c.one[0] = rra.Uint(v.v)
		q.Add(e.ref, c.at, c.one[:])
	}
	for i := range c.texts {
		c.describe(q, &c.texts[i])
	}
}

// describe hands over one text, unless it is the one of before.
func (c *source) describe(q *receivers.Queue, s *saying) {
	e := &c.refs.entries[s.entry]
	e.text = 0
	h := maphash.Bytes(c.s.seed, s.text) | 1
	if h == e.said && c.second < e.due {
		return
	}
	id := Identify(c.peer, e.token, c.refs.at(e))
	ok := q.Describe(receivers.Description{
		PathMetadata: engine.PathMetadata{Path: id.Path, Metadata: engine.Metadata{Time: c.at, Text: cutText(receivers.Text(s.text))}},
		Sender:       c.host,
	})
	if e.said, e.due = h, c.second+sameTextWait; !ok {
		e.said = 0
	}
}

// cutText cuts what is longer than is kept, at the end of a character.
func cutText(s string) string {
	if len(s) <= keptText {
		return s
	}
	n := keptText
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// resolve has the sink resolve the series of entries.
func (c *source) resolve(entries []uint32) {
	cfg := &c.s.cfg
	for _, i := range entries {
		c.refs.entries[i].asked = false
		c.refs.entries[i].why = receivers.Overload
	}
	if cfg.Now().Before(c.pause) {
		return
	}
	reqs := make([]receivers.Request, len(entries))
	for k, i := range entries {
		reqs[k] = c.request(&c.refs.entries[i])
	}
	// What was read before ctx ended is still stored.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), resolveTimeout)
	defer cancel()
	if err := c.s.sink.Resolve(ctx, reqs); err != nil {
		c.pause = cfg.Now().Add(resolvePause)
		for _, i := range entries {
			c.refs.entries[i].why = receivers.FailureReason(err)
		}
		if ok, held := c.s.lines.Allow("resolve", cfg.Now()); ok {
			cfg.Logger.Error("smon: series not made", "series", len(reqs), "err", err, "held_back_lines", held)
		}
		return
	}
	for k, i := range entries {
		c.settle(&c.refs.entries[i], &reqs[k])
	}
}

func (c *source) request(e *entry) receivers.Request {
	t := e.token
	return receivers.Request{
		Identity: Identify(c.peer, t, c.refs.at(e)),
		Sender:   c.host,
		Time:     c.at,
		Define: func(step int64) *rra.Definition {
			if step == 0 {
				step = c.s.set.step
			}
			return define(c.s.set.kinds.of(t.Name), step)
		},
	}
}

// settle writes the outcome of a request into an entry.
func (c *source) settle(e *entry, r *receivers.Request) {
	err := r.Err
	switch {
	case errors.Is(err, receivers.ErrSenderLimit), errors.Is(err, engine.ErrSeriesLimit):
		e.why, e.due = receivers.Limit, c.second+retryLimit
	case err != nil:
		e.why, e.due = receivers.State, c.second+retryOther
	case !fits(r.Definition):
		e.why, e.due = receivers.State, c.second+retryOther
		err = errors.New("the series has more than one value")
	default:
		e.ref = r.Ref
		c.refs.refs++
		return
	}
	if ok, held := c.s.lines.Allow("refused", c.s.cfg.Now()); ok {
		c.s.cfg.Logger.Warn("smon: values are dropped", "series", r.Path, "err", err, "held_back_lines", held)
	}
}
