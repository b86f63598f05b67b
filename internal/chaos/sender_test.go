package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// errTryAgain says that a node has refused a batch for now, as its protocol says that.
var errTryAgain = errors.New("try again")

// A batch is some samples that follow each other, of each series of a sender: from number from on.
// Numbers count from 1.
type batch struct{ from, samples int }

// A door is a protocol by which a sender sends.
type door interface {
	// prepare makes what must be there before batches are sent.
	prepare(ctx context.Context, node int) error
	// send sends a batch to a node, and returns nil if all of it is stored. late says how many
	// samples were refused as late. The error wraps errTryAgain if the node has said so.
	send(ctx context.Context, node int, b batch) (late int, err error)
	// close ends connections.
	close()
	// series returns the series that are sent.
	series() []series
}

// A series is a path and what its rows must be.
type series struct {
	path  string
	start int64                   // the time of sample number n is start + n
	row   func(n int) (v float64) // the value of the row of sample number n
	first int                     // the first row that is known
}

// A sender sends batch after batch, and each again until it is acknowledged.
type sender struct {
	name   string
	door   door
	node   int // that it sends to; it goes to the next one if that does not answer
	done   int // samples of each series that are acknowledged
	most   int // samples of each series
	most1  int // samples of each series in a batch
	pause  time.Duration
	random *rand.Rand
}

// attemptTime bounds an attempt: the node may be stopped. It is longer than a node lets a sender
// wait.
const attemptTime = 20 * time.Second

// run sends until stop ends, and then until the batch that is on its way is acknowledged, or ctx
// ends.
func (s *sender) run(ctx, stop context.Context, c *counts) error {
	defer s.door.close()
	if err := s.retry(ctx, c, func(ctx context.Context) error { return s.door.prepare(ctx, s.node) }); err != nil {
		return fmt.Errorf("%s: prepare: %w", s.name, err)
	}
	last := time.Now()
	for stop.Err() == nil && s.done < s.most {
		b, began := batch{from: s.done + 1, samples: 1 + s.random.IntN(s.most1)}, time.Now()
		err := s.retry(ctx, c, func(ctx context.Context) error {
			late, err := s.door.send(ctx, s.node, b)
			c.wasLate(late)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: samples from number %d on: %w", s.name, b.from, err)
		}
		s.done += b.samples
		now := time.Now()
		c.acknowledged(b.samples*len(s.door.series()), now.Sub(began), now.Sub(last))
		last = now
		pause(stop, s.pause)
	}
	return nil
}

// retry tries until an attempt succeeds.
func (s *sender) retry(ctx context.Context, c *counts, try func(context.Context) error) error {
	var first error
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		err := try(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("never acknowledged, last with %w, first with: %w", err, first)
		}
		var other *unexpectedError
		switch {
		case errors.As(err, &other):
			c.wrong(fmt.Sprintf("%s: at %s, from node %d: %v", s.name, time.Now().UTC().Format(time.TimeOnly), s.node+1, err))
		case errors.Is(err, errTryAgain):
			c.toldToTryAgain()
		default:
			c.unanswered()
		}
		s.node = (s.node + 1) % localcluster.Machines
		pause(ctx, wait/2+upTo(s.random, wait/2))
	}
}

// An unexpectedError is an answer that no sender expects.
type unexpectedError struct{ answer string }

func (e *unexpectedError) Error() string { return "unexpected answer: " + e.answer }

// level is the value of sample number n of series number i that distinguishes it from its
// neighbours.
func level(i, n int) float64 { return float64(1 + (n*7+i*131)%1009) }

// A counter counts up by level.
type counter struct {
	series int
	n      int // the number of the last sample
	sum    float64
}

// at returns what the counter of a series stands at with sample number n, which is not below the
// last one but by a batch.
func (c *counter) at(n int) float64 {
	for ; c.n < n; c.n++ {
		c.sum += level(c.series, c.n+1)
	}
	sum := c.sum
	for k := c.n; k > n; k-- {
		sum -= level(c.series, k)
	}
	return sum
}
