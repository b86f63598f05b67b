package rrdcached

import (
	"bytes"
	"errors"
	"math"
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/foreign"
)

// serve reads and answers requests until the peer closes the connection or the context ends.
func (c *conn) serve() {
	defer c.release()
	for !c.closing {
		more, err := c.receive()
		if err != nil {
			break // closed, silent for too long, or the server ends; requests that were read are answered
		}
		if !more {
			continue
		}
		c.chunk()
		c.count()
	}
	c.drain()
	_ = c.flush() // the peer may have gone
}

// receive reads requests. While bursts are in flight it takes requests that have arrived, and if
// none have, waits for more of them or for the first burst. more says whether there are bytes to
// parse.
func (c *conn) receive() (more bool, err error) {
	c.room()
	if c.over || c.ctx.Err() != nil {
		return c.receiveLast()
	}
	if len(c.flight) > 0 || c.burst != nil {
		return c.receiveMore()
	}
	if err := c.flush(); err != nil {
		return false, err
	}
	if c.to == 0 && c.large {
		c.shrink()
		c.room()
	}
	if cap(c.out) > smallBuffer {
		c.out = nil // the peer may be silent for long
	}
	c.fetches = nil
	c.uncharge()
	c.patience = c.s.o.WriteTime // the peer has read everything
	c.place.Silent(time.Now())
	c.deadline()
	n, err := c.in.Read(c.buf[c.to:], true)
	c.place.Heard()
	c.to += n
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.over = true // the server ends, another has the place, or the peer was silent for too long
		return false, nil
	}
	return n > 0, err
}

// receiveMore is receive while bursts are in flight or one is being filled.
func (c *conn) receiveMore() (more bool, err error) {
	if len(c.flight) > 0 && c.flight[0].done() {
		for len(c.flight) > 0 && c.flight[0].done() {
			c.drainFirst()
		}
		if err := c.flush(); err != nil {
			return false, err
		}
	}
	n, err := c.in.Read(c.buf[c.to:], false)
	if n > 0 {
		c.to += n
		return true, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.expired() // the next call reads
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.submit()
	if err := c.flush(); err != nil || len(c.flight) == 0 {
		return false, err
	}
	if !c.in.Polls() {
		c.drainFirst()
		return false, c.flush()
	}
	if !c.wake.begin(c.flight[0]) {
		return false, nil // the next call answers it
	}
	n, err = c.in.Read(c.buf[c.to:], true)
	c.to += n
	if told := c.wake.end(); told || errors.Is(err, os.ErrDeadlineExceeded) {
		c.expired()
		err = nil
	}
	return n > 0, err
}

// expired looks at a deadline of reading that has passed while nobody waited for the peer. That the
// peer was silent for so long is no reason to end the connection, which was busy.
func (c *conn) expired() {
	if c.over = c.ctx.Err() != nil || c.place.Yields(); !c.over {
		c.readUntil = time.Time{}
		c.deadline()
	}
}

// receiveLast reads, once, the requests that had arrived when reading came to its end.
func (c *conn) receiveLast() (more bool, err error) {
	if c.ended {
		return false, os.ErrDeadlineExceeded
	}
	c.ended = true
	n, err := c.in.ReadLast(c.buf[c.to:])
	c.to += n
	return c.to > c.from, err
}

// chunk answers the requests among the bytes that were read, as far as their lines are complete.
func (c *conn) chunk() {
	if r := c.s.o.Store.Renames(); r != c.renames {
		c.s.cache.follow(r)
		c.renames, c.last = r, nil
	}
	c.s.stats.bytes.Add(uint64(c.to - c.from))
	full := c.to == len(c.buf)
	if c.browser() {
		return
	}
	c.parse()
	c.gathered()
	if c.burst != nil {
		c.resolve() // postponed requests point into the buffer, which is about to be reused
	}
	// With a large buffer the burst goes on growing while earlier bursts are being written.
	if !c.large || len(c.flight) == 0 {
		c.submit()
	}
	if full && !c.large && !c.closing {
		c.grow()
	}
}

// browser ends a connection that begins like HTTP or TLS, without answering any request.
func (c *conn) browser() bool {
	if c.sniffed {
		return false
	}
	data := c.buf[c.from:c.to]
	c.sniffed = bytes.IndexByte(data, '\n') >= 0 || len(data) > MaxLine/2
	var first foreign.Sniffer
	if !first.Foreign(data) {
		return false
	}
	c.endForeign()
	return true
}

// endForeign ends the connection because it speaks HTTP or TLS. Otherwise a web page could make a
// browser send commands.
func (c *conn) endForeign() {
	c.closing = true
	c.s.stats.foreign.Add(1)
	c.s.foreign.Log(c.s.o.Logger.Warn, struct{}{}, time.Now(), "a connection that speaks HTTP or TLS is closed: see docs/rrdcached.md, TCP and browsers", "from", c.peer)
}

// parse goes through the complete lines that were read.
func (c *conn) parse() {
	data := c.buf[c.from:c.to]
	for !c.closing {
		n := bytes.IndexByte(data, '\n')
		if n < 0 {
			break
		}
		if n > MaxLine {
			c.closing = true
			break
		}
		line := data[:n]
		data = data[n+1:]
		if n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		c.line(line)
	}
	c.from = c.to - len(data)
	if len(data) > MaxLine {
		c.closing = true // rrdcached closes without an answer too
	}
}

// line handles one request.
func (c *conn) line(line []byte) {
	if c.burst != nil && (len(c.burst.slots) >= maxBurst || c.burst.size >= answerBytes) {
		c.submit()
	}
	if len(c.out) >= answerBytes && c.flush() != nil {
		return
	}
	if c.batch > 0 {
		c.batch = min(c.batch+1, math.MaxInt32)
	}
	if c.session != nil && !c.passes(line) {
		return
	}
	if isUpdate(line) && c.allow.allows(&commands[cmdUpdate]) {
		if len(c.fetches)+len(c.creates) > 0 {
			c.gathered()
		}
		c.counts[cmdUpdate].requests++
		c.update(line[7:])
		return
	}
	r, ok := parseRequest(line)
	if len(c.fetches) > 0 && (r.cmd == nil || r.cmd != c.fetches[0].cmd) || len(c.creates) > 0 && (r.cmd == nil || r.cmd.id != cmdCreate) {
		c.gathered()
	}
	switch {
	case !ok:
		c.closing = true
	case r.cmd == nil && foreign.Line(line):
		c.endForeign()
	case r.cmd == nil:
		c.slot(failure("Unknown command: " + string(r.name)))
		c.s.stats.unknown.Add(1)
	default:
		c.counts[r.cmd.id].requests++
		c.request(&r)
	}
}

// gathered answers the FETCHes or CREATEs that were gathered.
func (c *conn) gathered() {
	c.fetchAll()
	c.createAll()
}

// request answers a request that is no plain UPDATE.
func (c *conn) request(r *request) {
	cmd := r.cmd
	switch {
	case !c.allow.allows(cmd):
		c.fail(cmd, "Permission denied.")
		return
	case cmd.id == cmdWrote, cmd.id == cmdEnd && c.batch == 0, c.batch > 0 && !cmd.batch:
		c.fail(cmd, "Can't use '"+string(r.name)+"' here.")
		return
	case cmd.id == cmdUpdate:
		c.updateSlow(r.args, r.has)
		return
	}
	switch {
	case cmd.quick:
		c.quick(r)
	case cmd.id == cmdFetch || cmd.id == cmdFetchBin:
		c.fetch(r)
	case cmd.id == cmdCreate:
		c.create(r)
	case cmd.id == cmdBatch:
		c.slot("0 Go ahead.  End with dot '.' on its own line.")
		c.batch = 1
	case cmd.id == cmdEnd:
		c.slot("")
		c.burst.slots[c.burst.cur].stored = endOfBatch
		c.batch = 0
	default:
		c.drain()
		c.run(r)
	}
}

// release gives back the memory that the connection occupies, and its counters to the server.
func (c *conn) release() {
	c.count()
	c.uncharge()
	c.dropErrors()
	c.shrink()
}
