package core_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A tap stands between a stream and one store that follows it. It gives records away up to a
// position, notes which, and fails as a test says.
type tap struct {
	log *waltest.Stream

	mu     sync.Mutex
	upto   wal.Pos
	turned chan struct{} // closed when upto grows
	from   []wal.Pos     // where each Tail began
	given  []wal.Pos

	// open is asked each time the log is opened for reading; nil: it succeeds.
	open func() error
	// pass is asked before each record is given away, and may put another one in its place; nil:
	// all pass.
	pass func(p wal.Pos, rec []byte) (wal.Pos, []byte, error)
}

func newTap(log *waltest.Stream, upto wal.Pos) *tap {
	return &tap{log: log, upto: upto, turned: make(chan struct{})}
}

// options returns o for a store that follows through the tap.
func (tp *tap) options(o core.Options) core.Options {
	o = shared(o, tp.log)
	o.Follow = tp.follow
	return o
}

// turn lets records pass up to a position.
func (tp *tap) turn(upto wal.Pos) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.upto = max(tp.upto, upto)
	close(tp.turned)
	tp.turned = make(chan struct{})
}

// all turns the tap wholly on.
func (tp *tap) all() { tp.turn(1 << 62) }

// fail sets open and pass.
func (tp *tap) fail(open func() error, pass func(p wal.Pos, rec []byte) (wal.Pos, []byte, error)) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.open, tp.pass = open, pass
}

// seen returns where each Tail began, and the positions that were given away.
func (tp *tap) seen() (from, given []wal.Pos) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.from, tp.given
}

func (tp *tap) follow(wal.Pos) (core.Source, error) {
	tp.mu.Lock()
	open := tp.open
	tp.mu.Unlock()
	if open != nil {
		if err := open(); err != nil {
			return nil, err
		}
	}
	return &tapped{tp.log.Reader(), tp}, nil
}

// A tapped is a source behind a tap.
type tapped struct {
	*waltest.StreamReader
	tap *tap
}

func (s *tapped) Tail(ctx context.Context, from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	s.tap.mu.Lock()
	s.tap.from = append(s.tap.from, from)
	s.tap.mu.Unlock()
	return s.StreamReader.Tail(ctx, from, func(p wal.Pos, rec []byte) error {
		p, rec, err := s.tap.await(ctx, p, rec)
		if err != nil {
			return err
		}
		return fn(p, rec)
	})
}

// await waits until the record at p may pass.
func (tp *tap) await(ctx context.Context, p wal.Pos, rec []byte) (wal.Pos, []byte, error) {
	for {
		tp.mu.Lock()
		upto, turned, pass := tp.upto, tp.turned, tp.pass
		if p <= upto && pass == nil {
			tp.given = append(tp.given, p)
		}
		tp.mu.Unlock()
		switch {
		case p <= upto && pass == nil:
			return p, rec, nil
		case p <= upto:
			return pass(p, rec)
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
}

// awaitAt waits until a store has applied the log up to p.
func awaitAt(t testing.TB, s *core.Store, p wal.Pos) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.WaitFor(ctx, p); err != nil {
		t.Fatal(err)
	}
}
