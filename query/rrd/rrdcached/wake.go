package rrdcached

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

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
