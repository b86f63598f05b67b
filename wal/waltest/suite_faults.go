package waltest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/wal"
)

// The tests in this file make a log fail, where its Subject can.

// testEnqueueWhileTold holds a lock around Enqueue that the function for durable records takes too,
// as the engine does. A log that makes Enqueue wait for that function stands still here.
func testEnqueueWhileTold(t *testing.T, s *suite) {
	var mu sync.Mutex
	l := s.log(func(first, last wal.Pos, err error) {
		if err != nil {
			t.Errorf("positions %d to %d: %v", first, last, err)
		}
		mu.Lock()
		defer mu.Unlock()
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				mu.Lock()
				_, err := l.Enqueue(make([]byte, 100))
				mu.Unlock()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if p, err := l.Barrier(t.Context()); p != 800 || err != nil {
		t.Errorf("barrier: got %d, %v, want 800", p, err)
	}
}

// refusals are how a log answers when a record cannot be kept because of an error of the system.
var refusals = []struct{ cause, want error }{{syscall.ENOSPC, wal.ErrFull}, {syscall.EIO, wal.ErrRetry}}

// Refusal returns the error with which a log refuses records because of cause: wal.ErrFull or
// wal.ErrRetry. It is for the logs that a Subject opens.
func Refusal(cause error) error {
	for _, r := range refusals {
		if r.cause == cause {
			return r.want
		}
	}
	return wal.ErrRetry
}

// testRefused makes the log refuse records: the appender learns which of them, and why, and the
// next record gets the position of the first refused one.
func testRefused(t *testing.T, s *suite) {
	for _, c := range refusals {
		t.Run(c.want.Error(), func(t *testing.T) {
			var mu sync.Mutex
			refused := 0
			s := &suite{T: t, Subject: s.Subject, place: t.TempDir()}
			l := s.log(func(first, last wal.Pos, err error) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
				case !errors.Is(err, c.want) || !errors.Is(err, c.cause) || first != 6:
					t.Errorf("told of %d to %d, %v; want from 6, %v", first, last, err, c.want)
				default:
					refused += int(last - first + 1)
				}
			})
			s.fill(l, 5)
			s.Refuse(c.cause)
			enqueued := 0
			for range 3 {
				if p, err := l.Enqueue([]byte("refused")); err == nil && p >= 6 && p <= 8 {
					enqueued++
				} else if !errors.Is(err, c.want) {
					t.Errorf("enqueue: got %d, %v, want %v", p, err, c.want)
				}
			}
			if _, err := l.Barrier(t.Context()); err != nil && !errors.Is(err, c.want) {
				t.Errorf("barrier: got %v, want %v", err, c.want)
			}
			s.Refuse(nil)
			s.fill(l, 5)
			mu.Lock()
			if refused != enqueued {
				t.Errorf("told of %d refused records of %d", refused, enqueued)
			}
			mu.Unlock()
			s.check(l, 1, 10)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			s.check(s.log(nil), 1, 10)
		})
	}
}

// A load is what appenders have put into a log that refuses records now and then.
type load struct {
	*suite
	log   Log
	order sync.Mutex // taken around Enqueue, and by the function for failures, as in the engine

	mu                sync.Mutex // guards what follows
	queue, kept       []string   // not yet reported; reported as durable
	commits, failures int
}

// outcome makes the log refuse records after every fifth commit, until the second failure.
func (d *load) outcome(first, last wal.Pos, err error) {
	if err != nil {
		d.order.Lock()
		defer d.order.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := int(last - first + 1)
	if n > len(d.queue) || first != wal.Pos(len(d.kept))+1 {
		d.Errorf("told of %d to %d with %d enqueued behind %d", first, last, len(d.queue), len(d.kept))
		return
	}
	if err == nil {
		d.kept = append(d.kept, d.queue[:n]...)
		if d.commits++; d.commits%5 == 0 {
			d.Refuse(refusals[d.commits/5%2].cause)
		}
	} else if d.failures++; d.failures%2 == 0 {
		d.Refuse(nil)
	}
	d.queue = d.queue[n:]
}

func (d *load) enqueue(rec string) error {
	d.order.Lock()
	defer d.order.Unlock()
	d.mu.Lock()
	if len(d.queue) >= 8 { // many small commits
		d.mu.Unlock()
		runtime.Gosched()
		return wal.ErrRetry
	}
	d.queue = append(d.queue, rec)
	d.mu.Unlock()
	_, err := d.log.Enqueue([]byte(rec))
	if err != nil {
		d.mu.Lock()
		d.queue = d.queue[:len(d.queue)-1]
		d.mu.Unlock()
	}
	return err
}

// rest returns how many records the log has not reported.
func (d *load) rest() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue)
}

// testRefusedUnderLoad makes the log refuse records now and then, under appenders that go on.
// Exactly the records that were reported as durable are in the log, in order.
func testRefusedUnderLoad(t *testing.T, s *suite) {
	d := &load{suite: s}
	d.log = s.log(d.outcome)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; i < 200; {
				switch err := d.enqueue(fmt.Sprintf("appender %d record %d", w, i)); {
				case err == nil:
					i++
				case !errors.Is(err, wal.ErrFull) && !errors.Is(err, wal.ErrRetry):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for { // what is enqueued may be refused once more
		_, err := d.log.Barrier(t.Context())
		rest := d.rest()
		if rest == 0 {
			break
		}
		if err == nil {
			t.Fatalf("%d records were not told behind a barrier", rest)
		}
	}
	s.Refuse(nil)
	if d.failures == 0 {
		t.Error("no record was refused")
	}
	n := 0
	if err := d.log.Replay(1, func(p wal.Pos, rec []byte) error {
		if p != wal.Pos(n+1) || n >= len(d.kept) || d.kept[n] != string(rec) {
			return fmt.Errorf("position %d of %d: %q", p, len(d.kept), rec)
		}
		n++
		return nil
	}); err != nil || n != len(d.kept) {
		t.Errorf("replay: got %d records of %d, %v", n, len(d.kept), err)
	}
}

// testDamaged damages a record: Replay gives the records before it, or some of them, and says where
// the log ends.
func testDamaged(t *testing.T, s *suite) {
	l := s.log(nil)
	s.fill(l, 20)
	s.Damage(l, s.place, 12)
	next := wal.Pos(1)
	err := l.Replay(1, func(p wal.Pos, rec []byte) error {
		if p != next || p >= 12 || string(rec) != string(record(p)) {
			t.Errorf("position %d, want %d, below 12: %q", p, next, rec)
		}
		next++
		return nil
	})
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) {
		t.Errorf("replay of a damaged log: got %v, want a *CorruptError", err)
	}
}
