package rrdcached

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

// One goroutine serves a connection. It reads the requests that have arrived, collects their
// samples in a burst, and submits the burst to the engine. While the disk writes, it reads the
// requests that follow. It writes the answers in the order of the requests, each once its burst is
// durable.

const (
	maxFlight   = 3        // bursts of a connection that are on their way to the disk
	answerBytes = 64 << 10 // answers are written when there are so many bytes of them
)

// A conn is one connection.
type conn struct {
	s     *Server
	ctx   context.Context
	nc    net.Conn
	in    *sockets.Input
	allow Commands
	// session is who the peer is; nil: everybody may do what allow says.
	session *session

	buf        []byte // requests that were read
	from, to   int    // the part of buf that was not parsed yet
	large      bool   // buf is a large buffer
	burst      *burst // is being filled; nil: no request is open
	flight     []*burst
	wake       wake
	out        []byte // answers
	last       *alias // of the last UPDATE
	renames    uint64 // of the store, when the connection last looked
	drops      uint64 // of the cache, when no burst was in flight
	unknown    []postponed
	waiting    map[string]struct{} // the names in unknown
	batch      int                 // number of the last request of a BATCH plus one; 0: no BATCH
	errors     [][]byte            // errors of the BATCH, in pieces of whole lines
	errorBytes int                 // bytes in errors
	failures   int                 // lines in errors
	unlisted   int                 // errors of the BATCH that are only counted
	fetches    []fetching          // FETCHes that are read together
	values     []float64           // their values
	headed     int                 // bytes of the head of an answer with rows
	wrote      bool                // a part of the answer was written
	sniffed    bool                // the first bytes were checked for HTTP and TLS
	charged    int64               // bytes of rows that its answers occupy
	patience   time.Duration       // how long the peer may still take to read its answers
	endBy      time.Time           // when writing ends, as the server does or the place is lost
	place      *sockets.Place
	counts     [numCommands]count
	closing    bool      // no further request is answered
	over       bool      // reading has come to its end: what has arrived is still read
	ended      bool      // that was read, too
	readUntil  time.Time // deadline for reading
	peer       string
	// host is the name under which places and room are counted: the address of the peer, or its
	// 64-bit network if it is one of IPv6.
	host string

	creates     []creating                 // CREATEs that run together
	created     map[string]struct{}        // their paths
	createBytes int                        // bytes of their arguments
	definitions map[string]*rra.Definition // of earlier CREATEs, by step and arguments
}

// A count is the requests of one command, and how many of them failed.
type count struct{ requests, errors uint64 }

// room makes room in the buffer to read into.
func (c *conn) room() {
	if c.buf == nil {
		c.buf = c.s.small.get()
	}
	if c.from > 0 {
		c.to = copy(c.buf, c.buf[c.from:c.to])
		c.from = 0
	}
}

// grow exchanges the small buffer for a large one, if one of those is free.
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

// shrink returns the buffer, which must be empty, to its pool.
func (c *conn) shrink() {
	if c.large {
		c.s.big.put(c.buf)
		<-c.s.large
	} else if c.buf != nil {
		c.s.small.put(c.buf)
	}
	c.buf, c.large = nil, false
}

// deadline renews the time until which the peer may be silent.
func (c *conn) deadline() {
	now := time.Now()
	if idle := c.s.o.Idle; idle > 0 && c.readUntil.Sub(now) < idle-idle/64 {
		c.readUntil = now.Add(idle)
		_ = c.nc.SetReadDeadline(c.readUntil) // on an error the next read fails too
	}
	// checked after the deadline was set, because Interrupt's may just have been overwritten
	if c.ctx.Err() != nil || c.place.Yields() {
		c.place.Interrupt()
	}
}

// interrupt ends a waiting read at once, and a write after lastTime. It is called when the server
// ends.
func (c *conn) interrupt() {
	c.place.Interrupt()
	_ = c.nc.SetWriteDeadline(time.Now().Add(lastTime)) // on an error the write fails too
}

// slot adds a request to the burst, with its answer if it is known already.
func (c *conn) slot(answer string) {
	if c.burst == nil {
		c.burst = c.s.burst()
	}
	g := c.burst
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

// number returns the number of the current request in its BATCH, or -1 outside a BATCH.
func (c *conn) number() int32 { return int32(c.batch - 1) }

// fail answers a request with an error, after the answers of the requests before it.
func (c *conn) fail(cmd *command, text string) {
	c.counts[cmd.id].errors++
	c.slot(failure(text))
}

// readRate is how many bytes a second a peer must read once its patience is used up.
const readRate = 64 << 10

// patienceAfter returns the patience that is left after the peer took some time to read n bytes.
// most is the patience at the beginning.
func patienceAfter(left, most, took time.Duration, n int) time.Duration {
	return min(most, left-took+time.Duration(n)*time.Second/readRate)
}

// flush writes the answers. It gives up a peer that does not read them in time. The time counts
// until the peer has read everything, so that a peer that reads a few bytes now and then cannot
// keep memory and its place for ever.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	began := time.Now()
	_ = c.nc.SetWriteDeadline(began.Add(c.patience)) // on an error the write fails too
	// checked after the deadline was set, because interrupt's may just have been overwritten
	if c.ctx.Err() != nil || c.place.Yields() {
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

// count adds the counters of the connection to the server's.
func (c *conn) count() {
	for i := range c.counts {
		if n := &c.counts[i]; n.requests+n.errors > 0 {
			c.s.stats.requests[i].Add(n.requests)
			c.s.stats.errors[i].Add(n.errors)
			*n = count{}
		}
	}
}

func (c *conn) usage(cmd *command) { c.fail(cmd, "Usage: "+cmd.usage) }

// A postponed is an UPDATE of a series that does not exist yet.
type postponed struct {
	slot int
	raw  []byte
	r    request
}

// A creating is a CREATE that was parsed and has not run yet.
type creating struct {
	args   []string // arguments of rrdtool create
	alone  bool     // it reads other series, so it cannot run beside other CREATEs
	seen   string   // where the client looks for the file, below the base; empty: nowhere
	number int32    // number of the request in its BATCH
	answer string   // empty: it has not run yet

	// what the series will be, unless d is nil: then rrdtool has to say what is wrong
	d     *rra.Definition
	path  string
	file  string // absolute name, which decides where seasons are smoothed
	start int64  // seconds since 1970; 0: ten seconds ago
}

// A fetching is a FETCH or FETCHBIN that was parsed and is not answered yet.
type fetching struct {
	cmd        *command
	e          *alias
	cf         rra.CF
	start, end int64    // seconds since 1970
	columns    []string // names of the columns; empty: all
	plan       *query.Plan
	picked     []int // indices of the columns in the plan
	err        error
}

// The limits of the errors that wait for the end of a BATCH, in bytes.
const (
	maxErrors = 4 << 20  // of one BATCH
	allErrors = 64 << 20 // of all BATCHes
)

// endOfBatch stands for the samples of a slot that is the end of a BATCH. While a BATCH is on its
// way to the disk, the next one is read. So its errors come from the slots that were answered since
// the end of the BATCH before.
const endOfBatch = -1

// endBatch answers a BATCH of n commands with its errors.
func (c *conn) endBatch(commands int32) {
	n := c.failures
	if c.unlisted > 0 {
		n++
	}
	c.out = fmt.Appendf(c.out, "%d errors\n", n)
	for _, b := range c.errors {
		c.out = append(c.out, b...)
		if len(c.out) >= answerBytes && c.flush() != nil {
			break
		}
	}
	if c.unlisted > 0 {
		c.out = fmt.Appendf(c.out, "%d and %d further errors are not shown\n", commands, c.unlisted)
	}
	c.dropErrors()
}

// batchError keeps an error for the end of the BATCH. If there is no room for it, it is only
// counted.
func (c *conn) batchError(number int32, text string) {
	if c.errorBytes > maxErrors || c.s.errors.Load() > allErrors {
		c.unlisted++
		return
	}
	const digits = 12 // bytes around the text: the number, a blank, the end of the line
	n := len(c.errors) - 1
	if n < 0 || cap(c.errors[n])-len(c.errors[n]) < len(text)+digits {
		c.errors = append(c.errors, make([]byte, 0, max(min(c.errorBytes, 64<<10), 4<<10, len(text)+digits)))
		n++
	}
	before := len(c.errors[n])
	b := strconv.AppendInt(c.errors[n], int64(number), 10)
	b = append(append(append(b, ' '), text...), '\n')
	c.errors[n] = b
	c.failures++
	c.errorBytes += len(b) - before
	c.s.errors.Add(int64(len(b) - before))
}

// dropErrors forgets the errors of a BATCH.
func (c *conn) dropErrors() {
	c.s.errors.Add(-int64(c.errorBytes))
	c.errors, c.errorBytes, c.failures, c.unlisted = nil, 0, 0, 0
}

// A wake lets a connection wait for requests and for its first burst at once: a burst that is
// stored ends a Read that waits.
type wake struct {
	nc   net.Conn
	done func() // the method stored, kept here so that a burst allocates nothing

	mu    sync.Mutex // guards waits; taken last: a store that refuses a burst holds locks of its own
	waits bool       // the connection waits in Read
}

func (w *wake) init(nc net.Conn) { w.nc, w.done = nc, w.stored }

// stored is called when a burst of the connection is stored.
func (w *wake) stored() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits {
		w.waits = false
		_ = w.nc.SetReadDeadline(time.Unix(1, 0)) // on an error Read has ended
	}
}

// begin is called before a Read that is to end when g is stored. It returns false if g is.
func (w *wake) begin(g *burst) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = !g.done()
	return w.waits
}

// end is called after that Read. It reports whether a burst has ended it, or would have.
func (w *wake) end() (told bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	told = !w.waits
	w.waits = false
	return told
}

// done reports whether the samples of a burst in flight are stored, or refused.
func (g *burst) done() bool { return !g.sent || g.ticket.Done() }
