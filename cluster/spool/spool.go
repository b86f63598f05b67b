package spool

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/rra"
)

// Options configure a spool.
type Options struct {
	// Bytes bounds the samples that are kept, as they are before compression; default 1 GiB. The
	// folder takes less, as a rule, and at most a segment of 4 MiB for each partition more.
	Bytes int64

	// Logger gets when a partition's samples begin to be kept, when all are delivered, and damage;
	// nil: silent.
	Logger *slog.Logger

	// step gets what has just been done; for tests of crashes.
	step func(what string)
}

// A Sample is a reading of every data source of a series.
type Sample struct {
	Path string
	// Make says how the series is made if it is missing; its path is Path. nil: the sample is
	// refused then.
	Make *core.Spec

	At     rra.Time
	Values []rra.Value
	Texts  []string // rra.Text(i) among Values stands for Texts[i]
}

// Errors of Add.
var (
	// ErrFull says that the spool has no room for samples.
	ErrFull = errors.New("spool is full")
	// ErrNewSeries says that the spool is so full that it takes samples of existing series only.
	ErrNewSeries = errors.New("spool takes no new series")
	// ErrClosed says that the spool was closed.
	ErrClosed = errors.New("spool is closed")
)

// A Spool is an open spool. Its methods may be called concurrently.
type Spool struct {
	dir  string
	o    Options
	wake chan struct{} // holds one; Run then looks for something in a partition

	held    atomic.Int64 // bytes that are kept or about to be
	counted counters

	closed atomic.Bool

	mu    sync.Mutex // guards parts; part.mu may be taken while it is held
	parts map[int]*part
}

// Open opens the spool in a folder, and makes the folder if it is missing. A partition whose log is
// damaged is set aside: its folder is renamed, and the damage logged. The error wraps wal.ErrNewer,
// and nothing is changed, if a newer version of rondo wrote a log.
func Open(dir string, o Options) (*Spool, error) {
	if o.Bytes <= 0 {
		o.Bytes = 1 << 30
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.step == nil {
		o.step = func(string) {}
	}
	s := &Spool{dir: dir, o: o, wake: make(chan struct{}, 1), parts: make(map[int]*part)}
	if err := owner.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	for _, e := range entries {
		if err := s.found(e.Name()); err != nil {
			return nil, errors.Join(fmt.Errorf("open spool: %w", err), s.Close())
		}
	}
	s.signal()
	return s, nil
}

// found opens what a name in the folder stands for.
func (s *Spool) found(name string) error {
	if strings.HasSuffix(name, doneSuffix) {
		return os.RemoveAll(filepath.Join(s.dir, name))
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, partPrefix))
	if err != nil || name != partName(n) {
		return nil // not of a spool, or set aside
	}
	return s.part(n).load()
}

// part returns a partition's part, and makes it if it is missing.
func (s *Spool) part(n int) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[n]
	if p == nil {
		p = &part{spool: s, number: n, dir: filepath.Join(s.dir, partName(n))}
		s.parts[n] = p
	}
	return p
}

// all returns the parts that hold something.
func (s *Spool) all() []*part {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*part
	for _, p := range s.parts {
		if p.holds.Load() {
			list = append(list, p)
		}
	}
	return list
}

// signal makes Run look again.
func (s *Spool) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Holds says whether the spool has samples of a partition. Samples that come now must go behind
// them.
func (s *Spool) Holds(partition int) bool {
	s.mu.Lock()
	p := s.parts[partition]
	s.mu.Unlock()
	return p != nil && p.holds.Load()
}

// Add keeps samples of one partition behind those that it keeps already. It copies them. What it
// does not keep is counted, and the error says why: it wraps ErrFull, ErrNewSeries, ErrClosed or an
// error of the log, such as wal.ErrFull. The other samples are kept.
func (s *Spool) Add(partition int, samples []Sample) error {
	p := s.part(partition)
	var all error
	for len(samples) > 0 {
		n, err := p.add(samples)
		all = errors.Join(all, err)
		samples = samples[n:]
	}
	s.signal()
	return all
}

// reserve takes n bytes of the room for samples, or returns why there is none.
func (s *Spool) reserve(n int64, newSeries bool) error {
	held := s.held.Add(n)
	switch {
	case held > s.o.Bytes:
		s.held.Add(-n)
		return ErrFull
	case newSeries && held > s.o.Bytes-s.o.Bytes/5: // 80 %
		s.held.Add(-n)
		return ErrNewSeries
	}
	return nil
}

// Close closes the spool. Run must have returned. What is kept is there when it is opened again.
func (s *Spool) Close() error {
	s.closed.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	for _, p := range s.parts {
		all = errors.Join(all, p.close())
	}
	return all
}

// Stats returns a snapshot.
func (s *Spool) Stats() Stats {
	st := Stats{Bytes: s.held.Load(), Capacity: s.o.Bytes}
	now := time.Now()
	for _, p := range s.all() {
		st.Partitions++
		if at := p.oldest.Load(); at != 0 {
			st.Oldest = max(st.Oldest, now.Sub(time.UnixMicro(at)))
		}
	}
	s.counted.fill(&st)
	return st
}
