package rrdd

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is the plugin files of XenServer's and XCP-ng's rrdd.
var Protocol = receivers.Protocol{
	Name:    "rrdd",
	Title:   "XenServer's rrdd plugins",
	Network: "dir",
	Usage:   "`folder` of the plugin files of XenServer's rrdd; there it is /dev/shm/metrics",
	Flags:   []receivers.Flag{flagInterval, flagTypes, flagOnlyDefault},
	Default: func(_ receivers.Config, step int64) *rra.Definition { return new(Source).Define(rra.Gauge, step) },
	Check:   func(c receivers.Config) error { _, err := configure(c); return err },
	New:     func(c receivers.Config, s receivers.Sink) (receivers.Receiver, error) { return newServer(c, s) },
}

func newServer(cfg receivers.Config, sink receivers.Sink) (*server, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Listener != nil || cfg.PacketConn != nil {
		return nil, errors.New("plugin files are read from a folder, not from a socket")
	}
	info, err := os.Stat(cfg.Address)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: cfg.Address, Err: errors.New("no folder")}
	}
	if err != nil {
		return nil, err
	}
	return &server{
		cfg: cfg, sink: sink, asks: receivers.NewResolver(sink, cfg, "rrdd"), set: set, dir: cfg.Address, seed: maphash.MakeSeed(),
		room: production, ticks: ticker, wait: sleep.For, turned: func() {},
	}, nil
}

func ticker(every time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(every)
	return t.C, t.Stop
}

// Addr is the folder.
func (s *server) Addr() net.Addr { return address(s.dir) }

// Close does nothing: between turns nothing is open.
func (s *server) Close() error { return nil }

// Serve reads the folder at once and at every interval until ctx ends.
func (s *server) Serve(ctx context.Context) error {
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	ticks, stop := s.ticks(s.set.interval)
	defer stop()
	for {
		s.turn(ctx)
		s.queue.Flush()
		s.turned()
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// secondLook is after how long a file that could not be read is read again. It may have been half
// written.
const secondLook = 50 * time.Millisecond

// turn reads every file once, and a second time those that could not be read.
func (s *server) turn(ctx context.Context) {
	s.clock()
	if s.queue.Stale() {
		s.forget()
	}
	dir, err := openFolder(s.dir)
	if err != nil {
		s.Drop(receivers.Failed, 1)
		s.log("", "rrdd: folder not read", err)
		return
	}
	defer func() { _ = dir.Close() }() // nothing was written
	s.find(dir)
	s.again = s.again[:0]
	i, _ := s.search(s.slow + "\x00")
	s.each(ctx, dir, s.plugins[i:], false)
	s.each(ctx, dir, s.plugins[:i], false)
	if len(s.again) > 0 && ctx.Err() == nil {
		_ = s.wait(ctx, secondLook)
		s.clock()
		s.each(ctx, dir, s.again, true)
	}
	s.plugins = slices.DeleteFunc(s.plugins, func(p *plugin) bool { return p.gone })
	s.count()
}

// find adds new files to s.plugins.
func (s *server) find(dir *folder) {
	left := uint64(0)
	more, err := dir.names(s.room.names, func(name string) {
		i, known := s.search(name)
		switch {
		case known:
		case len(s.plugins) >= s.room.plugins:
			left++
		default:
			s.plugins = slices.Insert(s.plugins, i, &plugin{name: name, reader: Reader{work: &s.work}})
		}
	})
	if err != nil {
		s.Drop(receivers.Failed, 1)
		s.log("", "rrdd: folder not read", err)
	}
	if more {
		left++
	}
	if left > 0 {
		s.Drop(receivers.Limit, left)
		s.log("", "rrdd: too many files", fmt.Errorf("%d plugin files are the limit, further %d are not read", s.room.plugins, left))
	}
}

// each reads the files of ps. second says that they could not be read a moment ago.
func (s *server) each(ctx context.Context, dir *folder, ps []*plugin, second bool) {
	for _, p := range ps {
		if ctx.Err() != nil {
			return
		}
		s.look(ctx, dir, p, second)
	}
}

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

var (
	flagInterval = receivers.Flag{
		Name: "rrdd-interval", Default: "5s",
		Usage: "`time` between two readings of the plugin files, 100ms to 1h",
	}
	flagTypes = receivers.Flag{
		Name: "rrdd-types", Default: vocabularyWords[Auto],
		Usage: "what the `word` absolute means: legacy (a level), modern (a count), or auto, by the file's other words",
	}
	flagOnlyDefault = receivers.Flag{
		Name: "rrdd-only-default", Default: "false", Switch: true,
		Usage: "store only the data sources that are marked default, as the daemon does",
	}
)

// settings is what the protocol's flags say.
type settings struct {
	interval    time.Duration
	types       Vocabulary
	onlyDefault bool
}

const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

func configure(cfg receivers.Config) (s settings, err error) {
	text := cfg.Option(flagInterval)
	if s.interval, err = receivers.ParseDuration(text); err != nil || s.interval < minInterval || s.interval > maxInterval {
		return s, flagInterval.Wrong(fmt.Errorf("%q: want a time from %v to %v, such as 5s", text, minInterval, maxInterval))
	}
	types, err := cfg.Choice(flagTypes, vocabularyWords...)
	if err != nil {
		return s, err
	}
	s.types = Vocabulary(types)
	s.onlyDefault, err = cfg.Bool(flagOnlyDefault)
	return s, err
}

var (
	// errGone is the error of a name that is no regular file, or no longer one.
	errGone = errors.New("no such plugin file")
	// errNoSample is the error of a file that rrd-client-lib has opened and not written to.
	errNoSample = &receivers.Error{Reason: receivers.Checksum, Offset: v2DataSum, What: "there is no sample in it yet"}
	// errChanged is the error of a file that was rewritten while it was read.
	errChanged = &receivers.Error{Reason: receivers.Checksum, Offset: v2DataSum, What: "it changed while it was read"}
)
