package web

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/internal/room"
)

// A queue lets few graphs be drawn at once. The others wait in the order of their arrival, each
// client with a share.
type queue struct {
	waiting *room.Room // those that wait, and those that are drawn
	drawing *room.Room
}

func newQueue(places int) *queue {
	return &queue{waiting: room.New(maxWaiting, maxClientWaiting), drawing: room.New(places, places)}
}

// errBusy says that the queue is full, or that no place became free in time.
var errBusy = errors.New("too many graphs are being drawn: try again in some seconds")

// enter waits for a place until ctx ends. Call leave when the graph is drawn. The error is errBusy,
// or that of ctx if the client has gone.
func (q *queue) enter(ctx context.Context, client string) (leave func(), err error) {
	if !q.waiting.Enter(ctx, client, 0) {
		return nil, errBusy
	}
	if !q.drawing.Enter(ctx, client, maxTime) {
		q.waiting.Leave(client)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		return nil, errBusy
	}
	return func() {
		q.drawing.Leave(client)
		q.waiting.Leave(client)
	}, nil
}
