package rrdcached

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// An answer that waits for its reader holds rows in memory. All such answers together have a room;
// whoever needs more than is left waits. One address has a quarter of it, all of TCP a half, so
// that readers who do not read keep neither other machines nor the sockets of this one out.

// DefaultAnswers is how many bytes answers hold together where Options gives none.
const DefaultAnswers = 256 << 20

const (
	freeAnswer = 16 << 10 // bytes that every connection may hold
	roomTime   = 30 * time.Second
)

var errRoom = errors.New("too many large answers wait to be read, try again")

// A room is memory that answers share.
type room struct {
	most int64

	mu     sync.Mutex // guards what follows
	all    int64
	tcp    int64
	byHost map[string]int64
	freed  chan struct{} // closed when some is given back
}

func newRoom(most int64) *room {
	return &room{most: most, byHost: make(map[string]int64), freed: make(chan struct{})}
}

// share returns how much of n a peer is counted with: an answer that is larger than all that the
// peer may have is alone in it.
func (r *room) share(peer string, n int64) int64 {
	if peer == sockets.Local {
		return min(n, r.most)
	}
	return min(n, r.most/4)
}

// try takes n bytes for a peer, if they are free. freed is closed when it is worth another try.
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

// take is try that waits.
func (r *room) take(ctx context.Context, peer string, n int64) error {
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

// give gives back what try or take took.
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

// used returns how much is taken.
func (r *room) used() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}
