package api

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/internal/limit"
)

// A turn is the place of a request among those that compute. Few have one at a time. The others
// wait in the order of their arrival, but clients take turns. Its methods are for one goroutine.
type turn struct {
	running *limit.Limit
	client  string
	has     bool
}

// turn waits for a place until ctx ends. Call pause when the request is done.
func (h *Handler) turn(ctx context.Context, client string) (*turn, error) {
	t := &turn{running: h.running, client: client}
	return t, t.resume(ctx)
}

// pause gives the place to another request: this one is done, or waits for its client. It may be
// called again.
func (t *turn) pause() {
	if t.has {
		t.running.Give(t.client, 1)
		t.has = false
	}
}

// resume waits for a place again.
func (t *turn) resume(ctx context.Context) error {
	if t.has = t.has || t.running.Wait(ctx, t.client, 1, queryTime); t.has {
		return nil
	}
	return refused(ctx)
}

// refused returns the error of a request that has waited for a place in vain.
func refused(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &failure{Canceled, ctx.Err()}
	}
	return &failure{Timeout, errQueued}
}

// counts are counts of requests since the start.
type counts struct {
	answered, failed, busy atomic.Uint64
	seconds                histogram.Histogram
}

// fail counts a request with an error.
func (c *counts) fail(err error) {
	if c.failed.Add(1); errors.Is(err, errQueued) {
		c.busy.Add(1)
	}
}

// Stats are counts of requests since the start.
type Stats struct {
	Answered uint64 // with data
	Failed   uint64 // with an error, those included that were refused
	Busy     uint64 // refused because no place became free in time
	Waiting  int    // requests that wait or run now
	Seconds  histogram.Snapshot
}

// Stats returns counts since the start.
func (h *Handler) Stats() Stats {
	c := &h.counts
	busy := c.busy.Load() // before the failed ones, which are counted first and include it
	return Stats{
		Answered: c.answered.Load(), Failed: c.failed.Load(), Busy: busy,
		Waiting: h.running.Waiting() + int(h.running.Used()), Seconds: c.seconds.Snapshot(),
	}
}
