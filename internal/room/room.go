// Package room bounds how many requests are worked on at once, all together and by client.
package room

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Room has places for requests. One client may have at most a share of them, so that others
// always find some. Requests that wait get places in the order of their arrival, but a place that a
// client leaves goes to another client if one waits: who asks for much in a row does not keep the
// others waiting for all of it.
type Room struct {
	places, share int

	mu      sync.Mutex // guards the fields below
	taken   int
	clients map[string]int // places by client, without clients that have none
	waiting []*waiter      // in the order of arrival
}

type waiter struct {
	client string
	place  chan struct{} // closed when the waiter has a place
}

// New returns a room of places, of which one client may have share at most.
func New(places, share int) *Room {
	return &Room{places: places, share: share, clients: make(map[string]int)}
}

// Enter takes a place for client. It waits for one until ctx ends or patience is over, and does not
// wait if patience is 0.
func (r *Room) Enter(ctx context.Context, client string, patience time.Duration) bool {
	r.mu.Lock()
	if r.free(client) {
		r.occupy(client)
		r.mu.Unlock()
		return true
	}
	if patience == 0 {
		r.mu.Unlock()
		return false
	}
	w := &waiter{client: client, place: make(chan struct{})}
	r.waiting = append(r.waiting, w)
	r.mu.Unlock()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-w.place:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, w); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
		return false
	}
	return true // the waiter got a place meanwhile
}

func (r *Room) free(client string) bool { return r.taken < r.places && r.clients[client] < r.share }

func (r *Room) occupy(client string) {
	r.taken++
	r.clients[client]++
}

// Leave frees a place of client.
func (r *Room) Leave(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken--
	if r.clients[client]--; r.clients[client] == 0 {
		delete(r.clients, client)
	}
	i := slices.IndexFunc(r.waiting, func(w *waiter) bool { return w.client != client && r.free(w.client) })
	if i < 0 {
		i = slices.IndexFunc(r.waiting, func(w *waiter) bool { return r.free(w.client) })
	}
	if i >= 0 {
		w := r.waiting[i]
		r.waiting = slices.Delete(r.waiting, i, i+1)
		r.occupy(w.client)
		close(w.place)
	}
}

// Inside returns how many places are taken.
func (r *Room) Inside() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}
