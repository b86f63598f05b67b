package streamtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// A fate is what becomes of a publish.
type fate struct {
	latency time.Duration // before it is stored
	lost    bool          // the request is lost
	mute    bool          // the answer is lost
	late    time.Duration // the request arrives so much later; nobody waits for the answer
	silent  time.Duration // from now on the stream has no leader for so long
}

// fate draws what becomes of the next publish of a connection. It depends on Seed, the number of
// the connection and the number of the publish, and on nothing else.
func (c *conn) fate() fate {
	if c.Seed == 0 {
		return fate{}
	}
	c.mu.Lock()
	c.published++
	r := rand.New(rand.NewPCG(c.Seed, c.number<<32|c.published))
	c.mu.Unlock()
	f := fate{latency: time.Duration(1+r.IntN(8)) * time.Millisecond}
	switch n := r.IntN(100); {
	case n < 5:
		f.lost = true
	case n < 10:
		f.mute = true
	case n < 15:
		f.late = time.Duration(r.IntN(20_000)) * time.Millisecond
	case n < 17:
		f.silent = 4*time.Second + time.Duration(r.IntN(5000))*time.Millisecond
	}
	return f
}

// suffer lets a publish meet its fate. It returns an error if the publisher gets no good answer;
// the message may be stored then.
func (c *conn) suffer(ctx context.Context, f fate, after uint64, id string, msg []byte) error {
	if f.latency == 0 {
		return nil
	}
	time.Sleep(f.latency)
	c.mu.Lock()
	now := time.Now()
	if f.silent > 0 {
		c.silent = now.Add(f.silent)
	}
	silent := now.Before(c.silent)
	c.mu.Unlock()
	switch {
	case f.late > 0:
		msg = append([]byte(nil), msg...)
		time.AfterFunc(f.late, func() { _, _ = c.store(after, id, msg) }) // nobody waits
	case silent && !f.mute:
		return fmt.Errorf("%w: the stream has no leader", wal.ErrRetry)
	case f.mute && !silent:
		_, _ = c.store(after, id, msg) // the answer is lost
	case !f.lost && !f.mute:
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// errBroken is the error of an answer that breaks off.
var errBroken = errors.New("connection lost")

// sufferRead lets a question for messages meet its fate: it is answered, maybe after a while, or
// gets an error. breaks is how many messages come before the connection is lost; -1: it is not.
func (c *conn) sufferRead(ctx context.Context, replica int) (breaks int, err error) {
	c.mu.Lock()
	c.asks++
	c.reads++
	r := rand.New(rand.NewPCG(^c.Seed, c.number<<32|c.reads))
	c.mu.Unlock()
	if c.Down != nil && c.Down(replica) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if c.Seed == 0 {
		return -1, nil
	}
	time.Sleep(time.Duration(1+r.IntN(3)) * time.Millisecond)
	switch n := r.IntN(100); {
	case n < 2: // the question or the answer is lost
		<-ctx.Done()
		return 0, ctx.Err()
	case n < 4:
		return 0, errBroken
	case n < 10:
		return r.IntN(4), nil
	}
	return -1, nil
}

// shows says whether a replica has a message already.
func (c *Cluster) shows(replica int, seq uint64, stored time.Time) bool {
	if c.Behind != nil && c.Behind(replica, seq) {
		return false
	}
	if c.Seed == 0 {
		return true
	}
	lag := rand.New(rand.NewPCG(c.Seed+uint64(replica), seq)).IntN(300)
	return time.Since(stored) >= time.Duration(lag)*time.Millisecond
}

// stale returns by how much the bounds are behind.
func (c *Cluster) stale() uint64 {
	if c.Seed == 0 {
		return 0
	}
	c.asked++
	return rand.New(rand.NewPCG(^c.Seed, c.asked)).Uint64N(5)
}
