package api

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/internal/room"
)

// A queue lets few queries run at once. The others wait in the order of their arrival, each client
// with a share.
type queue struct {
	waiting *room.Room // requests that wait or run
	running *room.Room
}

func newQueue(places int) *queue {
	return &queue{waiting: room.New(maxWaiting, maxClientWaiting), running: room.New(places, places)}
}

// A turn is the place of a request that runs. Its methods are for one goroutine.
type turn struct {
	queue   *queue
	client  string
	running bool
}

// enter waits for a place until ctx ends. Call leave when the request is done.
func (q *queue) enter(ctx context.Context, client string) (*turn, error) {
	if !q.waiting.Enter(ctx, client, 0) {
		return nil, &failure{unavailable, errFull}
	}
	t := &turn{queue: q, client: client}
	if err := t.resume(ctx); err != nil {
		q.waiting.Leave(client)
		return nil, err
	}
	return t, nil
}

// pause gives the place to another request while this one waits for its client.
func (t *turn) pause() {
	if t.running {
		t.queue.running.Leave(t.client)
		t.running = false
	}
}

// resume waits for a place again.
func (t *turn) resume(ctx context.Context) error {
	if t.running {
		return nil
	}
	if t.running = t.queue.running.Enter(ctx, t.client, queryTime); t.running {
		return nil
	}
	return refused(ctx)
}

// refused returns the error of a request that has waited for a place in vain.
func refused(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &failure{canceled, ctx.Err()}
	}
	return &failure{timeout, errQueued}
}

func (t *turn) leave() {
	t.pause()
	t.queue.waiting.Leave(t.client)
}

// counts are counts of requests since the start.
type counts struct {
	answered, failed, busy atomic.Uint64
	seconds                histogram.Histogram
}

// Stats are counts of requests since the start.
type Stats struct {
	Answered uint64 // with data
	Failed   uint64 // with an error, those included that were refused
	Busy     uint64 // refused because too many wait
	Waiting  int    // requests that wait or run now
	Seconds  histogram.Snapshot
}

// Stats returns counts since the start.
func (h *Handler) Stats() Stats {
	c := &h.counts
	busy := c.busy.Load() // before the failed ones, which are counted first and include it
	return Stats{
		Answered: c.answered.Load(), Failed: c.failed.Load(), Busy: busy,
		Waiting: h.queue.waiting.Inside(), Seconds: c.seconds.Snapshot(),
	}
}
