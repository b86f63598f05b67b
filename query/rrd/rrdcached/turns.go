package rrdcached

import (
	"context"
	"errors"
	"time"
)

// TUNE, DUMP and CREATE from other series have all rows of a series in memory, some of them twice.
// They take turns: a few with series as most are, and one with a large one. A turn ends before the
// peer is sent anything.

const (
	turnsAtOnce = 8
	largeSeries = 1 << 20 // values
	turnTime    = 30 * time.Second
)

// turns are the places of those that are at it, of all and of large ones.
type turns struct{ all, large chan struct{} }

func newTurns() turns { return turns{make(chan struct{}, turnsAtOnce), make(chan struct{}, 1)} }

var errTurns = errors.New("RRD Error: too many series are worked on at once, try again")

// take waits for a turn, which the caller ends.
func (t *turns) take(ctx context.Context, large bool) (end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	if large {
		select {
		case t.large <- struct{}{}:
		case <-ctx.Done():
			return nil, errTurns
		}
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		if large {
			<-t.large
		}
		return nil, errTurns
	}
	return func() {
		<-t.all
		if large {
			<-t.large
		}
	}, nil
}
