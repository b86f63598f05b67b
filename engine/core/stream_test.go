package core_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// The interface that the engine asks for and the one that the suite tests are the same.
var (
	_ core.Log    = waltest.Log(nil)
	_ waltest.Log = core.Log(nil)
)

// onStream returns o with a simulated stream in place of the segments.
func onStream(o core.Options, log *waltest.Stream) core.Options {
	o.OpenLog = func(after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
		l, err := log.Open(after, onDurable)
		if err != nil { // a nil *StreamLog would be a Log
			return nil, err
		}
		return l, nil
	}
	return o
}

// TestStream runs a store on a log that is not made of segments: through restarts, with and without
// a checkpoint.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	log := waltest.NewStream(1)
	s := mustOpen(t, dir, onStream(core.Options{NoBackground: true}, log))
	f := newFeeder(t, s, 100)
	for i := range 6 {
		f.mustFeed(5)
		if i%2 == 0 {
			mustClose(t, s.Checkpoint(t.Context()))
			f.mustFeed(2)
		}
		want := mustDigest(t, s)
		if i%3 == 0 {
			mustClose(t, s.Close())
		} else {
			mustClose(t, s.Abandon())
		}
		s = mustOpen(t, dir, onStream(core.Options{NoBackground: i%2 == 0}, log))
		sameDigest(t, "reopen", mustDigest(t, s), want)
		f = f.reopened(s)
		f.verify()
	}
	mustClose(t, s.Close())
}

// TestStreamSealed opens a second store on the stream of the first: the first one stores nothing
// any more, says so to each appender, and is still read.
func TestStreamSealed(t *testing.T) {
	log := waltest.NewStream(1)
	s := mustOpen(t, t.TempDir(), onStream(core.Options{NoBackground: true}, log))
	f := newFeeder(t, s, 20)
	f.mustFeed(5)
	before := mustDigest(t, s)
	other := mustOpen(t, t.TempDir(), onStream(core.Options{NoBackground: true}, log))
	sameDigest(t, "a second store of the same log", mustDigest(t, other), before)
	for range 3 {
		if err := f.feed(1); !errors.Is(err, wal.ErrSealed) {
			t.Errorf("append to a sealed log: got %v, want %v", err, wal.ErrSealed)
		}
	}
	if _, err := s.Create(t.Context(), core.Spec{Path: "new", Definition: testDefinition(t)}); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("create on a sealed log: got %v, want %v", err, wal.ErrSealed)
	}
	sameDigest(t, "after refused appends", mustDigest(t, s), before)
	f.verify()
	mustClose(t, s.Close())
	f = f.reopened(other)
	f.mustFeed(5)
	f.verify()
	mustClose(t, other.Close())
}

// TestStreamUnreadable opens a store whose log cannot be read behind its checkpoint: it is refused
// with the error of the log.
func TestStreamUnreadable(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(log *waltest.Stream, at wal.Pos)
		is   func(error) bool
	}{
		{"damaged", (*waltest.Stream).Damage, func(err error) bool { e := (*wal.CorruptError)(nil); return errors.As(err, &e) }},
		{"hole", (*waltest.Stream).Lose, func(err error) bool { return errors.Is(err, wal.ErrHole) }},
		{"truncated", func(log *waltest.Stream, at wal.Pos) {
			l, err := log.Open(0, func(wal.Pos, wal.Pos, error) {})
			if err == nil {
				err = errors.Join(l.Truncate(at), l.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}, func(err error) bool { return errors.Is(err, wal.ErrHole) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			log := waltest.NewStream(1)
			s := mustOpen(t, dir, onStream(core.Options{NoBackground: true}, log))
			f := newFeeder(t, s, 20)
			f.mustFeed(5)
			mustClose(t, s.Checkpoint(t.Context()))
			f.mustFeed(5)
			mustClose(t, s.Abandon())
			l, err := log.Open(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			mustClose(t, l.Close())
			c.harm(log, l.Last()-1)
			if s, err := core.Open(dir, onStream(core.Options{}, log)); !c.is(err) {
				t.Errorf("open: got %v", err)
				if err == nil {
					mustClose(t, s.Close())
				}
			}
		})
	}
}

// TestStreamSilence holds the stream: an appender whose context ends while its batch is in the log
// waits for the answer of the log all the same, and the answer is true.
func TestStreamSilence(t *testing.T) {
	dir := t.TempDir()
	log := waltest.NewStream(1)
	s := mustOpen(t, dir, onStream(core.Options{NoBackground: true}, log))
	f := newFeeder(t, s, 5)
	f.mustFeed(1)
	log.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	var b core.Batch
	f.tick++
	for i, ref := range f.refs {
		b.Add(ref, f.at(), rra.Float(float64(f.tick*int64(i+1)%1000)/4))
	}
	told := make(chan error, 1)
	go func() { told <- s.Append(ctx, &b) }()
	for s.Queued() == 0 {
		runtime.Gosched()
	}
	cancel()
	select {
	case err := <-told:
		t.Fatalf("told %v while the log was silent", err)
	default:
	}
	log.Release()
	if err := <-told; err != nil {
		t.Errorf("append: got %v, want no error", err)
	}
	f.verify()
	enginetest.Check(t, s)
	mustClose(t, s.Close())
}
