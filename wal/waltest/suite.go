package waltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/wal"
)

// Log is what the engine asks of a log; engine/core declares the same interface and says what each
// method promises.
type Log interface {
	Enqueue(rec []byte) (wal.Pos, error)
	Barrier(ctx context.Context) (wal.Pos, error)
	Replay(from wal.Pos, fn func(p wal.Pos, rec []byte) error) error
	Truncate(upto wal.Pos) error
	First() wal.Pos
	Last() wal.Pos
	Close() error
}

var (
	_ Log = (*wal.Log)(nil)
	_ Log = (*StreamLog)(nil)
)

// A Subject is a kind of log under test.
type Subject struct {
	// Open opens the log that lives at place. It makes one if the place is empty. onDurable is as
	// in wal.Options.
	Open func(place string, onDurable func(first, last wal.Pos, err error)) (Log, error)

	// Refuse makes all logs fail to keep records because of err (syscall.ENOSPC or syscall.EIO),
	// until Refuse(nil). nil: the suite leaves out the tests that need it.
	Refuse func(err error)
	// Damage makes the durable record at p unreadable, in the open log l that lives at place. nil:
	// as Refuse.
	Damage func(l Log, place string, p wal.Pos)
}

// A suite is what one test of Run works with.
type suite struct {
	*testing.T
	Subject
	place string
}

func (s *suite) log(onDurable func(first, last wal.Pos, err error)) Log {
	s.Helper()
	if onDurable == nil {
		onDurable = func(first, last wal.Pos, err error) {
			if err != nil {
				s.Errorf("positions %d to %d: %v", first, last, err)
			}
		}
	}
	l, err := s.Open(s.place, onDurable)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = l.Close() }) // a test that cares closes it itself
	return l
}

// add enqueues a record and waits until it is durable.
func (s *suite) add(l Log, rec []byte) (wal.Pos, error) {
	p, err := l.Enqueue(rec)
	if err != nil {
		return 0, err
	}
	if upto, err := l.Barrier(s.Context()); err != nil {
		return 0, err
	} else if upto < p || l.Last() < p {
		return 0, fmt.Errorf("barrier at position %d, last is %d, behind position %d", upto, l.Last(), p)
	}
	return p, nil
}

// record is the record that these tests put at position p.
func record(p wal.Pos) []byte {
	return fmt.Appendf(nil, "record %d %s", p, bytes.Repeat([]byte{byte(p), 'x'}, int(p*7%61)))
}

func (s *suite) fill(l Log, n int) {
	s.Helper()
	for range n {
		want := l.Last() + 1
		if p, err := s.add(l, record(want)); err != nil || p != want {
			s.Fatalf("append: got position %d, %v, want %d", p, err, want)
		}
	}
}

// check replays and wants the records of positions from to last.
func (s *suite) check(l Log, from, last wal.Pos) {
	s.Helper()
	next := from
	err := l.Replay(from, func(p wal.Pos, rec []byte) error {
		if p != next {
			return fmt.Errorf("got position %d, want %d", p, next)
		}
		if !bytes.Equal(rec, record(p)) {
			return fmt.Errorf("position %d: got record %q, want %q", p, rec, record(p))
		}
		next++
		return nil
	})
	if err != nil {
		s.Errorf("replay from %d: %v", from, err)
	} else if next != last+1 {
		s.Errorf("replay from %d ended with %d, want %d", from, next-1, last)
	}
}

func testEmpty(t *testing.T, s *suite) {
	l := s.log(nil)
	if first, last := l.First(), l.Last(); first != 1 || last != 0 {
		t.Errorf("empty log has positions %d to %d, want 1 to 0", first, last)
	}
	s.check(l, 1, 0)
	if err := l.Replay(2, nil); !errors.Is(err, wal.ErrHole) {
		t.Errorf("replay from 2: got %v, want ErrHole", err)
	}
	if p, err := l.Barrier(t.Context()); p != 0 || err != nil {
		t.Errorf("barrier: got %d, %v, want 0", p, err)
	}
}

func testDense(t *testing.T, s *suite) {
	l := s.log(nil)
	var last wal.Pos
	for range 500 {
		p, err := l.Enqueue(record(last + 1))
		if err != nil || p != last+1 {
			t.Fatalf("enqueue: got position %d, %v, want %d", p, err, last+1)
		}
		last = p
	}
	if _, err := l.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.Last() != last {
		t.Errorf("last is %d, want %d", l.Last(), last)
	}
	for _, from := range []wal.Pos{1, 2, 250, 499, 500, 501} {
		s.check(l, from, last)
	}
	if err := l.Replay(502, nil); !errors.Is(err, wal.ErrHole) {
		t.Errorf("replay from 502: got %v, want ErrHole", err)
	}
}

func testReopen(t *testing.T, s *suite) {
	for round := range wal.Pos(4) {
		l := s.log(nil)
		if l.Last() != round*50 {
			t.Fatalf("reopened log ends at %d, want %d", l.Last(), round*50)
		}
		s.fill(l, 50)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.check(s.log(nil), 1, 200)
}

func testRecordIsCopied(t *testing.T, s *suite) {
	l := s.log(nil)
	rec := record(1)
	if _, err := l.Enqueue(rec); err != nil {
		t.Fatal(err)
	}
	clear(rec)
	if _, err := l.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.check(l, 1, 1)
}

func testSizes(t *testing.T, s *suite) {
	l := s.log(nil)
	var want [][]byte
	for _, n := range []int{0, 1, 127, 128, 4095, 70_000, 0, 300_000, 1_000_000, 3} {
		rec := bytes.Repeat([]byte("rondo "), n/6+1)[:n]
		want = append(want, rec)
		if _, err := s.add(l, rec); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	i := 0
	err := l.Replay(1, func(p wal.Pos, rec []byte) error {
		if !bytes.Equal(rec, want[i]) {
			return fmt.Errorf("position %d: got %d bytes, want %d", p, len(rec), len(want[i]))
		}
		i++
		return nil
	})
	if err != nil || i != len(want) {
		t.Errorf("replay: got %d records of %d, %v", i, len(want), err)
	}
}

func testOnDurableInOrder(t *testing.T, s *suite) {
	var mu sync.Mutex
	next := wal.Pos(1)
	l := s.log(func(first, last wal.Pos, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil || first != next || last < first {
			t.Errorf("told of %d to %d, %v; want from %d", first, last, err, next)
		}
		next = last + 1
	})
	for i := range wal.Pos(1000) {
		if _, err := l.Enqueue(record(i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if next != 1001 {
		t.Errorf("told up to %d when closed, want 1000", next-1)
	}
}

func testConcurrent(t *testing.T, s *suite) {
	const appenders, each = 16, 100
	l := s.log(nil)
	var mu sync.Mutex
	got := map[wal.Pos]string{}
	var wg sync.WaitGroup
	for w := range appenders {
		wg.Go(func() {
			var before wal.Pos
			for i := range each {
				rec := fmt.Sprintf("appender %d record %d", w, i)
				p, err := s.add(l, []byte(rec))
				if err != nil || p <= before || p > l.Last() {
					t.Errorf("append: got position %d, %v after %d, last %d", p, err, before, l.Last())
					return
				}
				before = p
				mu.Lock()
				got[p] = rec
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	n := 0
	err := l.Replay(1, func(p wal.Pos, rec []byte) error {
		if got[p] != string(rec) {
			return fmt.Errorf("position %d: got %q, want %q", p, rec, got[p])
		}
		n++
		return nil
	})
	if err != nil || n != appenders*each {
		t.Errorf("replay: got %d records of %d, %v", n, appenders*each, err)
	}
}

func testReplayWhileAppending(t *testing.T, s *suite) {
	l := s.log(nil)
	s.fill(l, 20)
	var wg sync.WaitGroup
	wg.Go(func() { s.fill(l, 300) })
	for range 20 {
		last := l.Last()
		next := wal.Pos(1)
		err := l.Replay(1, func(p wal.Pos, rec []byte) error {
			if p != next || !bytes.Equal(rec, record(p)) {
				return fmt.Errorf("position %d, want %d: %q", p, next, rec)
			}
			next++
			return nil
		})
		if err != nil || next <= last {
			t.Errorf("replay ended with %d, last was %d: %v", next-1, last, err)
		}
	}
	wg.Wait()
	s.check(l, 1, 320)
}

func testReplayStopsAtError(t *testing.T, s *suite) {
	l := s.log(nil)
	s.fill(l, 10)
	stop := errors.New("stop")
	n := 0
	err := l.Replay(3, func(p wal.Pos, _ []byte) error {
		if n++; p == 5 {
			return stop
		}
		return nil
	})
	if err != stop || n != 3 {
		t.Errorf("got %v after %d records, want it unchanged after 3", err, n)
	}
}

func testBarrier(t *testing.T, s *suite) {
	l := s.log(nil)
	for i := range wal.Pos(100) {
		if _, err := l.Enqueue(record(i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := l.Barrier(t.Context())
	if err != nil || p < 100 || l.Last() < 100 {
		t.Errorf("barrier: got %d, %v with last %d, want 100", p, err, l.Last())
	}
}

func testTruncate(t *testing.T, s *suite) {
	l := s.log(nil)
	s.fill(l, 400)
	for _, upto := range []wal.Pos{100, 50, 399, 400} {
		if err := l.Truncate(upto); err != nil {
			t.Fatal(err)
		}
		if first := l.First(); first > max(upto, 100)+1 && upto != 50 {
			t.Errorf("truncated up to %d, and first is %d", upto, first)
		}
		s.check(l, max(upto, l.First()), 400)
		if first := l.First(); first > 1 {
			if err := l.Replay(first-1, nil); !errors.Is(err, wal.ErrTruncated) {
				t.Errorf("replay from %d, first is %d: got %v, want ErrTruncated", first-1, first, err)
			}
		}
	}
	s.fill(l, 10)
	first := l.First()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = s.log(nil)
	if l.First() < first || l.First() > 401 || l.Last() != 410 {
		t.Errorf("reopened log has %d to %d, want about %d to 410", l.First(), l.Last(), first)
	}
	s.check(l, 401, 410)
}

func testClosed(t *testing.T, s *suite) {
	l := s.log(nil)
	s.fill(l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Enqueue(nil); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("enqueue: got %v, want ErrClosed", err)
	}
	if _, err := l.Barrier(t.Context()); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("barrier: got %v, want ErrClosed", err)
	}
	if err := l.Truncate(1); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("truncate: got %v, want ErrClosed", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
