package rrdcached

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
)

// TUNE, DUMP and CREATE from other series have all rows of a series in memory, some of them twice. They take turns: a few with series as
// most are, and one with a large one. A turn ends before the peer is sent anything.

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

// isLarge reports whether a series is, or becomes by the words of a TUNE.
func (s *Server) isLarge(name string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(w, "RRA") {
			return true // of any size
		}
	}
	return s.values(name) > largeSeries
}

// values returns how many values a series keeps; 0 if there is none of that name.
func (s *Server) values(name string) (n int64) {
	e, err := s.lookup([]byte(wire.Escape(name)))
	if err != nil {
		return 0 // the verb will say so
	}
	for i := range e.d.Archives {
		n += e.d.Archives[i].Rows * int64(len(e.d.Sources))
	}
	return n
}
