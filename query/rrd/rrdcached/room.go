package rrdcached

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// An answer that waits to be read occupies memory with rows. The room bounds all such answers
// together; a connection that needs more than is free waits. One address may occupy a quarter of
// the room, and all TCP connections together half of it. Slow readers therefore keep out neither
// other machines nor the unix sockets of this one.

// DefaultAnswers is the default of Options.Answers, in bytes.
const DefaultAnswers = 256 << 20

const (
	freeAnswer = 16 << 10         // bytes that a connection may occupy without being counted
	roomTime   = 30 * time.Second // how long a connection waits for room
)

var errRoom = errors.New("too many large answers wait to be read, try again")

// A room counts the bytes that answers occupy.
type room struct {
	most int64

	mu     sync.Mutex // guards the fields below; no other lock is taken under it
	all    int64
	tcp    int64            // of TCP connections
	byHost map[string]int64 // of TCP connections, by host
	freed  chan struct{}    // is closed, and replaced, when bytes are given back
}

func newRoom(most int64) *room {
	return &room{most: most, byHost: make(map[string]int64), freed: make(chan struct{})}
}

// share returns how many of n bytes are counted. An answer that is larger than the whole share of
// its peer counts as the whole share: it may be sent, but alone.
func (r *room) share(peer string, n int64) int64 {
	if peer == sockets.Local {
		return min(n, r.most)
	}
	return min(n, r.most/4)
}

// try reserves n bytes for a peer if they are free. Otherwise it returns a channel that is closed
// when bytes have been given back.
func (r *room) try(peer string, n int64) (ok bool, freed <-chan struct{}) {
	n = r.share(peer, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all+n > r.most || peer != sockets.Local && (r.tcp+n > r.most/2 || r.byHost[peer]+n > r.most/4) {
		return false, r.freed
	}
	r.all += n
	if peer != sockets.Local {
		r.tcp += n
		r.byHost[peer] += n
	}
	return true, nil
}

// wait reserves n bytes for a peer. It waits for them up to roomTime.
func (r *room) wait(ctx context.Context, peer string, n int64) error {
	late := time.NewTimer(roomTime)
	defer late.Stop()
	for {
		ok, freed := r.try(peer, n)
		if ok {
			return nil
		}
		select {
		case <-freed:
		case <-late.C:
			return errRoom
		case <-ctx.Done():
			return errRoom
		}
	}
}

// give gives back n bytes that try or wait has reserved.
func (r *room) give(peer string, n int64) {
	n = r.share(peer, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all -= n
	if peer != sockets.Local {
		r.tcp -= n
		if r.byHost[peer] -= n; r.byHost[peer] == 0 {
			delete(r.byHost, peer)
		}
	}
	close(r.freed)
	r.freed = make(chan struct{})
}

// used returns how many bytes are reserved.
func (r *room) used() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}
