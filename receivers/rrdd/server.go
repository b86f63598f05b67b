package rrdd

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A server is the receiver. Only the goroutine of Serve uses it, except for the counters.
type server struct {
	receivers.Counters
	cfg   receivers.Config
	sink  receivers.Sink
	asks  *receivers.Resolver
	set   settings
	dir   string
	queue *receivers.Queue
	work  workspace
	seed  maphash.Seed

	plugins []*plugin // in order of their names
	again   []*plugin // to be read a second time in this turn
	sources int       // adopted by all plugins
	bytes   int       // that these take, about

	now    time.Time // when the turn began, or the second reading
	latest rra.Time  // the latest time that a sample may have
	tick   uint32    // of now
	slow   string    // the plugin whose resolve failed last: the next turn begins behind it
	values [1]rra.Value

	lines loglimit.Limit[string]

	// What a test replaces.
	room  room
	ticks func(time.Duration) (<-chan time.Time, func()) // begins turns, and how to stop that
	// returns when the time is over, or the context has ended
	wait   func(context.Context, time.Duration) error
	turned func() // is called after each turn
}

type address string

func (address) Network() string { return "dir" }

func (a address) String() string { return string(a) }

// room bounds what is kept in memory, and how much of a folder is looked at.
type room struct {
	names   int // of anything in the folder
	plugins int // files
	sources int // data sources of all files
	bytes   int // that these take, about
}

var production = room{names: 16384, plugins: 1024, sources: 200_000, bytes: 128 << 20}

func (s *server) clock() {
	s.now = s.cfg.Now()
	s.tick = s.asks.Tick(s.now)
	s.latest = s.cfg.Latest(s.now)
}

// search returns the index of the file name in s.plugins, or where to insert it.
func (s *server) search(name string) (int, bool) {
	return slices.BinarySearchFunc(s.plugins, name, func(p *plugin, name string) int { return strings.Compare(p.name, name) })
}

// forget forgets all references, because the store has refused one.
func (s *server) forget() {
	for _, p := range s.plugins {
		for i := range p.series {
			p.series[i] = dataSeries{describe: p.adopted[i].described()}
		}
	}
}

// count updates the number of series that have references.
func (s *server) count() {
	n := 0
	for _, p := range s.plugins {
		for i := range p.series {
			if p.series[i].Ref != 0 {
				n++
			}
		}
	}
	s.Series.Store(int64(n))
}

// log writes one line a minute at most about each file, and about the folder if name is empty.
func (s *server) log(name, what string, err error) {
	args := []any{"folder", s.dir, "err", err}
	if name != "" {
		args = append([]any{"plugin", name}, args...)
	}
	if e, ok := errors.AsType[*receivers.Error](err); ok {
		args = append(args, "offset", e.Offset)
	}
	s.lines.Log(s.cfg.Logger.Warn, name, s.now, what, args...)
}
