package waltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/wal"
)

// Reader follows a log that another process may write.
type Reader interface {
	// Tail calls fn for each record from position from on (0: from the oldest), in order, and goes
	// on with the records that writers append, until ctx ends. It never returns nil. The record is
	// valid during the call. Tail returns an error of fn as it is, a *wal.TruncatedError if the
	// next record was truncated away, an error that wraps wal.ErrHole if it is missing, and a
	// *wal.CorruptError if it is damaged everywhere.
	Tail(ctx context.Context, from wal.Pos, fn func(p wal.Pos, rec []byte) error) error
	// Last returns the newest position that is known; 0: none. The log may have newer records.
	Last() wal.Pos
	// Close makes Tail return wal.ErrClosed. A second Close returns nil.
	Close() error
}

// RunReader tests that readers of a log keep what a store that follows relies on. open opens a
// reader of the log that lives at place, which may be empty.
func RunReader(t *testing.T, subject Subject, open func(place string) (Reader, error)) {
	tests := []struct {
		name string
		test func(t *testing.T, s *readerSuite)
	}{
		{"Follow", testFollow},
		{"FollowWriters", testFollowWriters},
		{"FollowFrom", testFollowFrom},
		{"FollowFromEmpty", testFollowFromEmpty},
		{"FollowTruncated", testFollowTruncated},
		{"FollowStopsAtError", testFollowStopsAtError},
		{"FollowEnds", testFollowEnds},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, &readerSuite{suite{T: t, Subject: subject, place: filepath.Join(t.TempDir(), "log")}, open})
		})
	}
	if subject.Damage != nil { // the last one: it may damage all logs
		t.Run("FollowDamaged", func(t *testing.T) {
			testFollowDamaged(t, &readerSuite{suite{T: t, Subject: subject, place: filepath.Join(t.TempDir(), "log")}, open})
		})
	}
}

// A readerSuite is what one test of RunReader works with.
type readerSuite struct {
	suite
	open func(place string) (Reader, error)
}

func (s *readerSuite) reader() Reader {
	s.Helper()
	r, err := s.open(s.place)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = r.Close() }) // a test that cares closes it itself
	return r
}

// errEnough ends a Tail that has all it wants.
var errEnough = errors.New("enough")

// follow reads the records from position from to last, and compares them.
func (s *readerSuite) follow(r Reader, from, last wal.Pos) {
	s.Helper()
	next := from
	err := r.Tail(s.Context(), from, func(p wal.Pos, rec []byte) error {
		if p != next || !bytes.Equal(rec, record(p)) {
			return fmt.Errorf("got position %d, %q, want %d", p, rec, next)
		}
		if next++; next > last {
			return errEnough
		}
		return nil
	})
	if err != errEnough || next != last+1 {
		s.Errorf("followed from %d to %d, want to %d: %v", from, next-1, last, err)
	}
}

// testFollow lets readers follow a writer, from before its first record on.
func testFollow(t *testing.T, s *readerSuite) {
	l := s.log(nil)
	var wg sync.WaitGroup
	for range 3 {
		r := s.reader()
		wg.Go(func() {
			s.follow(r, 1, 300)
			if r.Last() < 300 {
				t.Errorf("last is %d behind record 300", r.Last())
			}
		})
	}
	s.fill(l, 300)
	wg.Wait()
}

// testFollowWriters lets one reader follow writers that follow each other.
func testFollowWriters(t *testing.T, s *readerSuite) {
	l := s.log(nil)
	r := s.reader()
	var wg sync.WaitGroup
	wg.Go(func() { s.follow(r, 1, 100) })
	for round := range 5 {
		s.fill(l, 20)
		if round < 4 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			l = s.log(nil)
		}
	}
	wg.Wait()
}

func testFollowFrom(t *testing.T, s *readerSuite) {
	l := s.log(nil)
	s.fill(l, 60)
	r := s.reader()
	if r.Last() != 60 {
		t.Errorf("a reader of 60 records knows %d", r.Last())
	}
	for _, from := range []wal.Pos{1, 2, 30, 59, 60} {
		s.follow(r, from, 60)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.follow(r, 61, 80) })
	s.fill(l, 20)
	wg.Wait()
	first := wal.Pos(0)
	if err := r.Tail(t.Context(), 0, func(p wal.Pos, _ []byte) error { first = p; return errEnough }); err != errEnough || first != 1 {
		t.Errorf("from the oldest on: got %d, %v, want 1", first, err)
	}
}

// testFollowFromEmpty opens the reader before the log.
func testFollowFromEmpty(t *testing.T, s *readerSuite) {
	r := s.reader()
	if r.Last() != 0 {
		t.Errorf("a reader of nothing knows position %d", r.Last())
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.follow(r, 1, 10) })
	s.fill(s.log(nil), 10)
	wg.Wait()
}

// testFollowTruncated truncates records that a reader still wants.
func testFollowTruncated(t *testing.T, s *readerSuite) {
	l := s.log(nil)
	s.fill(l, 400)
	if err := l.Truncate(350); err != nil {
		t.Fatal(err)
	}
	r := s.reader()
	s.follow(r, l.First(), 400)
	if l.First() == 1 {
		return // a log may keep what it was allowed to drop
	}
	err := r.Tail(t.Context(), l.First()-1, func(p wal.Pos, _ []byte) error { return fmt.Errorf("got record %d", p) })
	if cut, ok := errors.AsType[*wal.TruncatedError](err); !ok || cut.First != l.First() || !errors.Is(err, wal.ErrTruncated) {
		t.Errorf("follow from below the first record %d: got %v, want a TruncatedError with it", l.First(), err)
	}
}

func testFollowStopsAtError(t *testing.T, s *readerSuite) {
	s.fill(s.log(nil), 10)
	stop := errors.New("stop")
	n := 0
	err := s.reader().Tail(t.Context(), 3, func(p wal.Pos, _ []byte) error {
		if n++; p == 5 {
			return stop
		}
		return nil
	})
	if err != stop || n != 3 {
		t.Errorf("got %v after %d records, want it unchanged after 3", err, n)
	}
}

// testFollowEnds ends a Tail that waits: by its context, and by Close.
func testFollowEnds(t *testing.T, s *readerSuite) {
	s.fill(s.log(nil), 5)
	for name, want := range map[string]error{"context": context.Canceled, "close": wal.ErrClosed} {
		t.Run(name, func(t *testing.T) {
			r := s.reader()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen, ended := make(chan wal.Pos, 5), make(chan error, 1)
			go func() {
				ended <- r.Tail(ctx, 5, func(p wal.Pos, _ []byte) error { seen <- p; return nil })
			}()
			if p := <-seen; p != 5 {
				t.Errorf("got record %d, want 5", p)
			}
			if want == wal.ErrClosed {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			} else {
				cancel()
			}
			if err := <-ended; !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if want == wal.ErrClosed {
				if err := r.Close(); err != nil {
					t.Errorf("second close: %v", err)
				}
				if err := r.Tail(t.Context(), 1, nil); !errors.Is(err, wal.ErrClosed) {
					t.Errorf("tail of a closed reader: got %v, want ErrClosed", err)
				}
			}
		})
	}
}

// testFollowDamaged damages a record: a reader gets the records before it, or some of them.
func testFollowDamaged(t *testing.T, s *readerSuite) {
	l := s.log(nil)
	s.fill(l, 20)
	s.Damage(l, s.place, 12)
	next := wal.Pos(1)
	err := s.reader().Tail(t.Context(), 1, func(p wal.Pos, rec []byte) error {
		if p != next || p >= 12 || !bytes.Equal(rec, record(p)) {
			t.Errorf("position %d, want %d, below 12: %q", p, next, rec)
		}
		next++
		return nil
	})
	if _, ok := errors.AsType[*wal.CorruptError](err); !ok {
		t.Errorf("follow a damaged log: got %v, want a *CorruptError", err)
	}
}
