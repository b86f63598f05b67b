package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// Following is recovery without end: see recover.go. The source gives one record after the other to
// an inbox, whose goroutine applies changes of the catalogue and hands samples on to the shards.
// Calls that read, and checkpoints, go on meanwhile as they do while a leader appends.
//
// A record that cannot be applied, or a log that lacks records, halts the store: what comes behind
// must not be applied, and no checkpoint may say that it was. Any other error of the source is
// passing: the source is opened anew.

// The times between attempts to open a source grow from followFirst to followLast.
const (
	followFirst = 10 * time.Millisecond
	followLast  = 2 * time.Second
)

// following says whether the log of the store is not open for writing.
func (s *Store) following() bool {
	_, ok := s.log.get().(*followedLog)
	return ok
}

// passed notes that everything up to p is applied. No record is on its way.
func (s *Store) passed(p wal.Pos) {
	for _, sh := range s.appender.shards {
		sh.applied.Store(max(sh.applied.Load(), uint64(p)))
	}
}

// follow starts the goroutine that follows. The caller holds changing.
func (r *replica) follow() {
	if e := r.s.loader.failure.Load(); e != nil {
		r.become(Halted, *e)
		return
	}
	r.become(Follower, nil)
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.stopped = stop, make(chan struct{})
	go func(stopped chan struct{}) {
		defer close(stopped)
		r.followOn(ctx)
	}(r.stopped)
}

// unfollow ends following, and waits until what was received is applied or forgotten. The caller
// holds changing.
func (r *replica) unfollow() {
	if r.stopped == nil {
		return
	}
	r.stop()
	<-r.stopped
	r.stop, r.stopped = nil, nil
	r.s.appender.drain()
}

// followOn follows until ctx ends or the store must halt.
func (r *replica) followOn(ctx context.Context) {
	log := r.s.options.Logger
	for wait := followFirst; ; wait = min(2*wait, followLast) {
		from := r.s.Position()
		err := r.followOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		failure := r.s.loader.failure.Load()
		if failure != nil {
			err = *failure
		}
		if failure != nil || halts(err) {
			log.Error("the store cannot follow its log any more and is read as it is; it takes its place again from a backup of another store",
				"position", uint64(r.s.Position()), "err", err)
			r.become(Halted, err)
			return
		}
		if r.s.Position() > from {
			wait = followFirst
		}
		if wait == followFirst {
			log.Warn("the log cannot be followed for now; it is tried again", "position", uint64(from), "err", err)
		}
		r.become(Follower, err)
		if sleep.For(ctx, wait) != nil {
			return
		}
	}
}

// halts says whether trying again would meet err again.
func halts(err error) bool {
	if errors.Is(err, wal.ErrRetry) || errors.Is(err, wal.ErrLost) {
		return false
	}
	for _, is := range []error{wal.ErrTruncated, wal.ErrHole, ErrOtherLog, ErrDamaged, ErrVersion, record.ErrParse, ErrInvalid} {
		if errors.Is(err, is) {
			return true
		}
	}
	_, corrupt := errors.AsType[*wal.CorruptError](err)
	return corrupt
}

// followOnce opens the source and follows it until it fails.
func (r *replica) followOnce(ctx context.Context) error {
	after := r.s.Position()
	source, err := r.s.options.Follow(after)
	if err != nil {
		return fmt.Errorf("open the log for reading: %w", err)
	}
	defer func() { _ = source.Close() }() // it was only read
	if err := r.meet(source); err != nil {
		return err
	}
	tail, stop := context.WithCancel(ctx)
	defer stop()
	r.opened(source, stop)
	defer r.left()
	r.s.failpoint("follow-open")
	in := newInbox(r.s, after+1)
	in.start(ctx)
	met := false
	err = source.Tail(tail, after+1, func(p wal.Pos, rec []byte) error {
		if !met { // it may have learnt its identity from the first record
			if err := r.meet(source); err != nil {
				return err
			}
			met = true
		}
		return in.add(p, rec)
	})
	if e := in.finish(); e != nil {
		err = e
	}
	if err == nil {
		err = errors.New("the source ended")
	}
	return fmt.Errorf("follow the log behind position %d: %w", r.s.Position(), err)
}

// opened notes the source that is followed, and how that is ended.
func (r *replica) opened(source Source, stop context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source, r.stopTail = source, stop
	if r.err != nil {
		r.err = nil
		r.wake(&r.changed)
	}
}

// left notes that no source is followed.
func (r *replica) left() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source, r.stopTail = nil, nil
}

// failed stops reading the log. It is called when a record could not be applied. Without it the
// store would learn that only from the next record, which may not come for a long time.
func (r *replica) failed() {
	r.mu.Lock()
	stop := r.stopTail
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// A followedLog stands in for the log while the store follows.
type followedLog struct{ s *Store }

// errEnough ends a replay at its last position.
var errEnough = errors.New("that was the last record")

func (l *followedLog) Enqueue([]byte) (wal.Pos, error) { return 0, ErrNotLeader }

func (l *followedLog) Barrier(context.Context) (wal.Pos, error) { return l.Last(), nil }

func (l *followedLog) Truncate(wal.Pos) error { return ErrNotLeader }

func (l *followedLog) Close() error { return nil }

// First returns the position behind what the database holds: an older record is of no use.
func (l *followedLog) First() wal.Pos { return l.s.Checkpointed() + 1 }

// Last returns the position of the newest record that was applied, if only in part.
func (l *followedLog) Last() wal.Pos {
	p := uint64(0)
	for _, sh := range l.s.appender.shards {
		p = max(p, sh.applied.Load())
	}
	return wal.Pos(p)
}

// Replay reads the records up to Last from a source of its own.
func (l *followedLog) Replay(from wal.Pos, fn func(p wal.Pos, rec []byte) error) error {
	last := l.Last()
	if from == 0 {
		from = l.First()
	}
	if from > last {
		return nil
	}
	source, err := l.s.options.Follow(from - 1)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	if err := l.s.replica.meet(source); err != nil {
		return err
	}
	var failed error // of fn
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err = source.Tail(ctx, from, func(p wal.Pos, rec []byte) error {
		if failed = fn(p, rec); failed == nil && p >= last {
			failed = errEnough
		}
		return failed
	})
	switch {
	case failed == errEnough:
		return nil
	case failed != nil:
		return failed
	}
	return err
}
