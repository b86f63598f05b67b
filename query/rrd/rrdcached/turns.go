package rrdcached

import (
	"context"
	"errors"
	"time"
)

// TUNE, DUMP and CREATE from other series hold all rows of a series in memory, some of them twice.
// They take turns to bound that memory: turnsAtOnce at a time, and only one with a large series. A
// turn ends before anything is sent to the peer.

const (
	turnsAtOnce = 8
	largeSeries = 1 << 20          // values from which on a series is large
	turnTime    = 30 * time.Second // how long a request waits for its turn
)

// turns hold an element for each turn under way: all of them, and those with a large series.
type turns struct{ all, large chan struct{} }

func newTurns() turns { return turns{make(chan struct{}, turnsAtOnce), make(chan struct{}, 1)} }

var errTurns = errors.New("RRD Error: too many series are worked on at once, try again")

// wait waits for a turn. The caller calls end when it is over.
func (t *turns) wait(ctx context.Context, large bool) (end func(), err error) {
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
