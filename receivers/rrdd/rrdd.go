package rrdd

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"os"
	"slices"
	"time"

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
