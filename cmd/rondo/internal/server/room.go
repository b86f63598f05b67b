package server

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A room has places for requests. One client may have at most a share of them, so that others
// always find some. Requests that wait get places in the order of their arrival.
type room struct {
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

func newRoom(places, share int) *room {
	return &room{places: places, share: share, clients: make(map[string]int)}
}

// enter takes a place for client. It waits for one until ctx ends or patience is over, and does not
// wait if patience is 0.
func (r *room) enter(ctx context.Context, client string, patience time.Duration) bool {
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

func (r *room) free(client string) bool { return r.taken < r.places && r.clients[client] < r.share }

func (r *room) occupy(client string) {
	r.taken++
	r.clients[client]++
}

// leave frees a place of client.
func (r *room) leave(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken--
	if r.clients[client]--; r.clients[client] == 0 {
		delete(r.clients, client)
	}
	if i := slices.IndexFunc(r.waiting, func(w *waiter) bool { return r.free(w.client) }); i >= 0 {
		w := r.waiting[i]
		r.waiting = slices.Delete(r.waiting, i, i+1)
		r.occupy(w.client)
		close(w.place)
	}
}

// inside returns how many places are taken.
func (r *room) inside() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}
