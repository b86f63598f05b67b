package rrdcached

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/rondo-db/rondo/internal/foreign"
	"github.com/rondo-db/rondo/internal/sockets"
)

// A connection is served by one goroutine. It reads what has arrived, puts the samples of it into a group, and hands that to
// the engine; while the disk is at it, it reads on, as long as there is something. Answers are written in the order of the
// requests, once the group that they belong to is durable.

// The sizes of what a connection holds.
const (
	smallBuffer = 16 << 10  // of requests; more than one of MaxLine
	largeBuffer = 256 << 10 // of a connection that fills the small one
	maxFlight   = 3         // groups on their way to the disk
	answerBytes = 64 << 10  // answers that are written at once
)

// A conn is one connection.
type conn struct {
	s     *Server
	ctx   context.Context
	nc    net.Conn
	in    *input
	allow Commands

	buf        []byte // what was read
	from, to   int    // the part that was not looked at
	large      bool   // buf is one of few
	group      *group // is being filled; nil: there is none
	flight     []*group
	out        []byte // answers
	last       *entry
	renames    uint64
	drops      uint64 // of the cache, when nothing was on its way
	unknown    []postponed
	waiting    map[string]struct{} // names of unknown
	batch      int                 // the number of the last request of a BATCH plus one; 0: outside
	errors     [][]byte            // of the BATCH: lines
	errorBytes int                 // in them
	failures   int                 // lines in errors
	unlisted   int                 // further ones
	creates    []creating          // requests that are carried out side by side
	created    map[string]struct{} // paths of these
	fetches    []fetching          // requests that are read together
	values     []float64           // of these
	headed     int                 // bytes of the head of an answer with rows
	wrote      bool                // some answers were written
	sniffed    bool                // the first bytes are those of a client
	charged    int64               // bytes of rows of answers: see room
	patience   time.Duration       // how long the peer may take to read, as things are
	endBy      time.Time           // when writing ends because ctx has; zero: it has not
	place      *sockets.Place
	counts     [numCommands]count
	closing    bool      // nothing more is looked at
	ended      bool      // the server's end has been seen
	readUntil  time.Time // the deadline of reading
	peer       string
	host       string // whose share of places and room it takes: the address of the peer, or its network of 64 bits of IPv6
}

// A count is how often a command was asked for, and answered with an error.
type count struct{ requests, errors uint64 }

// A postponed is an UPDATE of a series that is yet to be made.
type postponed struct {
	slot int
	raw  []byte
	r    request
}

// serve reads and answers requests until the peer has gone, or the context ends.
func (c *conn) serve() {
	defer c.release()
	for !c.closing {
		more, err := c.receive()
		if err != nil {
			break // gone, silent for too long, or the server ends: what was read is answered
		}
		if !more {
			continue
		}
		c.chunk()
		c.count()
	}
	c.settle()
	_ = c.flush() // there is nobody left to tell
}

// receive reads what has arrived. While groups are on their way it does not wait for more, but for the first of them; more
// says whether there is something to look at.
func (c *conn) receive() (more bool, err error) {
	c.room()
	if c.ctx.Err() != nil {
		return c.receiveLast()
	}
	if len(c.flight) > 0 || c.group != nil {
		n, err := c.in.read(c.buf[c.to:], false)
		if n > 0 {
			c.to += n
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if c.submit(); len(c.flight) > 0 {
			c.settleFirst()
		}
		return false, c.flush()
	}
	if err := c.flush(); err != nil {
		return false, err
	}
	if c.to == 0 && c.large {
		c.shrink()
		c.room()
	}
	if cap(c.out) > smallBuffer {
		c.out = nil // it may be silent for long
	}
	c.fetches = nil
	c.uncharge()
	c.patience = c.s.o.WriteTime // it has read everything
	c.place.Silent(time.Now())
	c.deadline()
	n, err := c.in.read(c.buf[c.to:], true)
	c.place.Heard()
	c.to += n
	if errors.Is(err, os.ErrDeadlineExceeded) && c.ctx.Err() != nil {
		return false, nil // the next time it is seen
	}
	return n > 0, err
}

// receiveLast reads, once, what had arrived when the server ended.
func (c *conn) receiveLast() (more bool, err error) {
	if c.ended {
		return false, c.ctx.Err()
	}
	c.ended = true
	for range 3 { // interrupt may come late
		_ = c.nc.SetReadDeadline(time.Now().Add(lastTime)) // else the read says so
		n := 0
		n, err = c.in.read(c.buf[c.to:], false)
		c.to += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	return c.to > c.from, err
}

// room makes room to read into.
func (c *conn) room() {
	if c.buf == nil {
		c.buf = c.s.small.get()
	}
	if c.from > 0 {
		c.to = copy(c.buf, c.buf[c.from:c.to])
		c.from = 0
	}
}

// grow takes a large buffer, if there is one for this connection.
func (c *conn) grow() {
	select {
	case c.s.large <- struct{}{}:
	default:
		return
	}
	p := c.s.big.get()
	c.from, c.to = 0, copy(p, c.buf[c.from:c.to])
	c.s.small.put(c.buf)
	c.buf, c.large = p, true
}

// shrink gives buffers back while there is nothing in them.
func (c *conn) shrink() {
	if c.large {
		c.s.big.put(c.buf)
		<-c.s.large
	} else if c.buf != nil {
		c.s.small.put(c.buf)
	}
	c.buf, c.large = nil, false
}

// release gives back what the connection holds.
func (c *conn) release() {
	c.count()
	c.uncharge()
	c.dropErrors()
	c.shrink()
}

// deadline gives the peer its time.
func (c *conn) deadline() {
	now := time.Now()
	if idle := c.s.o.Idle; idle > 0 && c.readUntil.Sub(now) < idle-idle/64 {
		c.readUntil = now.Add(idle)
		_ = c.nc.SetReadDeadline(c.readUntil) // else the next read says so
	}
	if c.ctx.Err() != nil || c.place.Yields() { // asked only now: its deadline may just have been overwritten
		c.place.Interrupt()
	}
}

// interrupt ends a read that waits, and soon a write, because the server ends.
func (c *conn) interrupt() {
	c.place.Interrupt()
	_ = c.nc.SetWriteDeadline(time.Now().Add(lastTime)) // else the write says so
}

// chunk does what the whole lines that were read ask for.
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
	if c.group != nil {
		c.resolve() // what waits for its series lies in the buffer
	}
	if !c.large || len(c.flight) == 0 {
		c.submit()
	} // else the group grows while the disk is at those before it, as long as there is something to read
	if full && !c.large && !c.closing {
		c.grow()
	}
}

// browser ends a connection that begins as HTTP or TLS does. Nothing that was read is looked at.
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

// endForeign ends the connection because it speaks HTTP or TLS: what a web page has a browser send is not carried out.
func (c *conn) endForeign() {
	c.closing = true
	c.s.stats.foreign.Add(1)
	if ok, held := c.s.foreign.Allow(struct{}{}, time.Now()); ok {
		c.s.o.Logger.Warn("a connection that speaks HTTP or TLS is closed: see docs/rrdcached.md, TCP and browsers", "from", c.peer, "held_back_lines", held)
	}
}

// parse looks at the whole lines that were read.
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
		c.closing = true // as rrdcached does, without a word
	}
}

// line looks at one request.
func (c *conn) line(line []byte) {
	if c.group != nil && (len(c.group.slots) >= maxGroup || c.group.size >= answerBytes) {
		c.submit()
	}
	if len(c.out) >= answerBytes && c.flush() != nil {
		return
	}
	if c.batch > 0 {
		c.batch = min(c.batch+1, math.MaxInt32)
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

// gathered answers requests that were gathered because more like them might follow.
func (c *conn) gathered() {
	c.fetchAll()
	c.createAll()
}

// request answers a request.
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
	default:
		c.settle()
		c.run(r)
	}
}

// slot adds a request to the group, with its answer if it is known.
func (c *conn) slot(answer string) {
	if c.group == nil {
		c.group = c.s.group()
	}
	g := c.group
	n := len(g.slots)
	if n == cap(g.slots) {
		g.slots = slices.Grow(g.slots, 64)
	}
	g.slots = g.slots[:n+1]
	g.slots[n].answer = answer
	g.slots[n].number = c.number()
	g.cur = n
	g.size += len(answer)
}

// number is that of the request at hand in its BATCH, or -1.
func (c *conn) number() int32 { return int32(c.batch - 1) }

// fail answers a request with an error, when those before it are answered.
func (c *conn) fail(cmd *command, text string) {
	c.counts[cmd.id].errors++
	c.slot(failure(text))
}

// submit hands the group to the engine. If the most that may be on their way are, it waits for the first.
func (c *conn) submit() {
	g := c.group
	if g == nil {
		return
	}
	c.resolve()
	c.group = nil
	if g.batch.Len() > 0 {
		if err := c.s.o.Store.Submit(c.s.life, &g.batch, &g.ticket); err != nil {
			g.refuse(err)
		} else {
			g.sent = true
		}
	}
	c.flight = append(c.flight, g)
	for len(c.flight) > c.most() {
		c.settleFirst()
	}
}

// most is how many groups may be on their way: connections without a large buffer have none to gather the next in.
func (c *conn) most() int {
	if c.large {
		return maxFlight
	}
	return 1
}

// settle waits for all that is on its way and answers it.
func (c *conn) settle() {
	c.submit()
	for len(c.flight) > 0 {
		c.settleFirst()
	}
}

// settleFirst waits for the first group and answers its requests.
func (c *conn) settleFirst() {
	g := c.flight[0]
	c.flight = slices.Delete(c.flight, 0, 1)
	if g.sent {
		if err := g.ticket.Wait(); err != nil {
			c.storeAgain(g, g.refuse(err))
		}
	}
	for i := range g.slots {
		c.answer(&g.slots[i])
	}
	c.s.stats.samples.Add(uint64(len(g.owner)))
	c.s.putGroup(g)
}

// answer writes the answer of a slot.
func (c *conn) answer(s *slot) {
	failed := len(s.answer) > 0 && s.answer[0] == '-'
	if failed && s.e != nil {
		c.counts[cmdUpdate].errors++
	}
	switch {
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

// readRate is how many bytes a second a peer must read of what it is sent, once its patience is used up.
const readRate = 64 << 10

// patienceAfter returns what is left of a patience, which is most at first, when n bytes took the peer so long.
func patienceAfter(left, most, took time.Duration, n int) time.Duration {
	return min(most, left-took+time.Duration(n)*time.Second/readRate)
}

// flush writes the answers. A peer that does not read them in time is given up: the time is for all it is sent until it has read everything,
// so that one who reads a little now and then does not keep memory and places for as long as it likes.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	began := time.Now()
	_ = c.nc.SetWriteDeadline(began.Add(c.patience)) // else the write says so
	if c.ctx.Err() != nil {                          // asked only now: interrupt's deadline may just have been overwritten
		if c.endBy.IsZero() {
			c.endBy = began.Add(lastTime)
		}
		_ = c.nc.SetWriteDeadline(c.endBy)
	}
	n, err := c.nc.Write(c.out)
	c.patience = patienceAfter(c.patience, c.s.o.WriteTime, time.Since(began), n)
	if err == nil && c.patience <= 0 {
		err = os.ErrDeadlineExceeded
	}
	c.out = c.out[:0]
	c.wrote = true
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.s.stats.stalled.Add(1)
		}
		c.closing = true
	}
	return err
}
