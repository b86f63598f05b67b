package rrdcached

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
)

// An answer that waits to be read occupies memory with rows. The unix sockets have one half of the
// bytes of all such answers, TCP connections the other, and one address a half of that. Slow
// readers therefore keep out neither other machines nor the unix sockets of this one.

// DefaultAnswers is the default of Options.Answers, in bytes.
const DefaultAnswers = 256 << 20

const (
	freeAnswer = 16 << 10         // bytes that a connection may occupy without being counted
	roomTime   = 30 * time.Second // how long a connection waits for room
)

var errRoom = errors.New("too many large answers wait to be read, try again")

// answers count the bytes that answers occupy.
type answers struct {
	half       int64 // of all bytes: what local and remote have
	local, tcp *limit.Limit
}

func newAnswers(most int64) answers {
	half := most / 2
	return answers{half: half, local: limit.New(half, half), tcp: limit.New(half, half/2)}
}

// of returns what counts the answers of a host.
func (a *answers) of(host string) *limit.Limit {
	if host == sockets.Local {
		return a.local
	}
	return a.tcp
}

// charge reserves n bytes of the server's room for an answer, in place of an earlier reservation.
// If they are not free, it writes the answers that are ready and waits. An answer that is larger
// than all room may be sent, but alone.
func (c *conn) charge(n int64) error {
	if n <= freeAnswer || n <= c.charged {
		return nil
	}
	c.uncharge()
	n = min(n, c.s.answers.half)
	room := c.s.answers.of(c.host)
	if !room.Take(c.host, n) {
		if err := c.flush(); err != nil {
			return err
		}
		if !room.Wait(c.ctx, c.host, n, roomTime) {
			return errRoom
		}
	}
	c.charged = n
	return nil
}

// uncharge gives back what charge has reserved.
func (c *conn) uncharge() {
	c.values = nil
	if c.charged > 0 {
		c.s.answers.of(c.host).Give(c.host, c.charged)
		c.charged = 0
	}
}

// TUNE, DUMP and CREATE from other series hold all rows of a series in memory, some of them twice.
// They take turns to bound that memory. A turn ends before anything is sent to the peer.

const (
	maxTurns    = 8                // at a time
	largeTurn   = maxTurns/2 + 1   // what one with a large series counts as: only one has place
	largeSeries = 1 << 20          // values from which on a series is large
	turnTime    = 30 * time.Second // how long a request waits for its turn
)

var errTurns = errors.New("RRD Error: too many series are worked on at once, try again")

// turn waits for a turn of host. The caller calls end when it is over.
func (s *Server) turn(ctx context.Context, host string, large bool) (end func(), err error) {
	n := int64(1)
	if large {
		n = largeTurn
	}
	if !s.turns.Wait(ctx, host, n, turnTime) {
		return nil, errTurns
	}
	return func() { s.turns.Give(host, n) }, nil
}
