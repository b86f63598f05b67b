package natskv

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cluster/coord"
)

// A connection may be with a server that is of no use: it is cut off from the others, or hangs, or
// its replica is behind. The client stays with it, and the node would be out of the cluster. So the
// connection goes to another server when that lasts.

const (
	// muteMost is how long all reads, or all writes, may fail before another server is tried. A
	// node loses its leases after 6 s.
	muteMost = 3 * time.Second
	// moveAgain is the time between two changes of the server.
	moveAgain = 10 * time.Second
)

// What a call does. A server that is cut off reads what its replica has, and writes nothing.
const (
	read = iota
	write
)

// heard takes in how a read or a write has ended.
func (s *Store) heard(what int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil, answered(err):
		s.mute[what] = time.Time{}
	case errors.Is(err, context.Canceled): // nobody waited for the answer
	case s.mute[what].IsZero():
		s.mute[what] = now
	case now.Sub(s.mute[what]) >= muteMost:
		s.move(now)
	}
}

// answered says whether err is what the servers say to a call, and not that they do not know.
func answered(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Code != 503 || errors.Is(err, coord.ErrConflict) || errors.Is(err, nats.ErrMaxPayload)
}

// move lets the connection go to another server, unless it did a moment ago, or no server has the
// bucket. s.mu is held.
func (s *Store) move(now time.Time) {
	if s.gone.times == 0 && now.Sub(s.moved) >= moveAgain {
		s.moved = now
		_ = s.nc.ForceReconnect() // an error says that the connection is closed
	}
}
