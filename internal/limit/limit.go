// Package limit bounds what clients may take of one thing at a time: places, or bytes of memory.
//
// A [Limit] counts what is taken, all together and by client. One client has a share of it, so that
// many pieces of one client never take everything. Who finds nothing free is refused at once by
// Take, or waits:
//
//	if !queries.Wait(ctx, client, 1, 5*time.Second) {
//		return errBusy
//	}
//	defer queries.Give(client, 1)
//
// A request that takes more and more bytes while it is worked on has an [Account], which its
// context can carry.
package limit

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Forever is the patience of those who wait until their context ends.
const Forever = time.Duration(math.MaxInt64)

// A Limit is an amount of one thing that clients take and give back. Its methods may be called at
// the same time.
//
// A client may hold its share at most. Only a client that holds nothing may take more than that at
// once, so that a large piece is possible, but alone.
//
// Those who wait are served in the order of their arrival, with two exceptions. Who waits for their
// own share keeps no other client waiting. And what one client gives back goes to another client
// first if one waits, so that a client with many requests in the queue does not have all of them
// served before the others.
type Limit struct {
	most, share int64

	mu      sync.Mutex // guards what follows; no other lock is taken under it
	used    int64
	waiting int    // how many wait
	arrived uint64 // how many have begun to wait so far
	clients map[string]*client
}

// A client is one that holds something or waits.
type client struct {
	held    int64
	waiting []*waiter // in the order of arrival
}

type waiter struct {
	n      int64
	number uint64        // in the order of arrival
	given  chan struct{} // closed when the waiter has got n
}

// New returns a limit of most; one client may have share of it.
func New(most, share int64) *Limit {
	return &Limit{most: most, share: share, clients: make(map[string]*client)}
}

// Take takes n for a client, and reports whether that was free. It never passes those who wait.
func (l *Limit) Take(name string, n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(name, n)
}

func (l *Limit) take(name string, n int64) bool {
	if n == 0 {
		return true
	}
	c := l.clients[name]
	if c == nil {
		c = new(client)
	}
	if !l.free(c, n) || l.first(nil) != nil {
		return false
	}
	l.clients[name] = c
	l.hold(c, n)
	return true
}

// Wait takes n for a client. It waits for that until patience is over or ctx ends, and reports
// whether it has got it. More than the limit is never free.
func (l *Limit) Wait(ctx context.Context, name string, n int64, patience time.Duration) bool {
	l.mu.Lock()
	if ok := l.take(name, n); ok || patience <= 0 || n > l.most {
		l.mu.Unlock()
		return ok
	}
	w := l.join(name, n)
	l.mu.Unlock()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-w.given:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.given: // meanwhile
		return true
	default:
	}
	c := l.clients[name]
	c.waiting = slices.DeleteFunc(c.waiting, func(o *waiter) bool { return o == w })
	l.waiting--
	l.serve(nil) // others may have waited behind w
	l.forget(name, c)
	return false
}

func (l *Limit) join(name string, n int64) *waiter {
	c := l.clients[name]
	if c == nil {
		c = new(client)
		l.clients[name] = c
	}
	l.waiting++
	l.arrived++
	w := &waiter{n: n, number: l.arrived, given: make(chan struct{})}
	c.waiting = append(c.waiting, w)
	return w
}

// Give gives back n that Take or Wait has taken for a client.
func (l *Limit) Give(name string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == 0 {
		return
	}
	c := l.clients[name]
	l.used -= n
	c.held -= n
	l.serve(c)
	l.forget(name, c)
}

// forget removes a client that neither holds anything nor waits.
func (l *Limit) forget(name string, c *client) {
	if c.held == 0 && len(c.waiting) == 0 {
		delete(l.clients, name)
	}
}

// serve gives what is free to those who wait: to the clients other than last, then to all.
func (l *Limit) serve(last *client) {
	for {
		c := l.first(last)
		if c == nil || !l.free(c, c.waiting[0].n) {
			c = l.first(nil)
		}
		if c == nil || !l.free(c, c.waiting[0].n) {
			return
		}
		w := c.waiting[0]
		c.waiting = slices.Delete(c.waiting, 0, 1)
		l.waiting--
		l.hold(c, w.n)
		close(w.given)
	}
}

// first returns the client, other than one, that has waited for longest for what is within its
// share. It is nil if there is none.
func (l *Limit) first(other *client) (first *client) {
	if l.waiting == 0 {
		return nil
	}
	for _, c := range l.clients {
		if c == other || len(c.waiting) == 0 || !l.shared(c, c.waiting[0].n) {
			continue
		}
		if first == nil || c.waiting[0].number < first.waiting[0].number {
			first = c
		}
	}
	return first
}

// shared reports whether a client may have n more, if they are free.
func (l *Limit) shared(c *client, n int64) bool { return c.held == 0 || c.held+n <= l.share }

func (l *Limit) free(c *client, n int64) bool { return l.used+n <= l.most && l.shared(c, n) }

func (l *Limit) hold(c *client, n int64) {
	l.used += n
	c.held += n
}

// Used returns how much is taken.
func (l *Limit) Used() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// Waiting returns how many wait.
func (l *Limit) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}
