package waltest_test

import (
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// streams are streams by the place that the suite names.
type streams struct {
	mu      sync.Mutex
	made    map[string]*waltest.Stream
	refusal error
}

func (s *streams) at(place string) *waltest.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	place = filepath.Clean(place)
	if s.made[place] == nil {
		st := waltest.NewStream(1)
		st.Fault = func(wal.Pos, wal.Pos) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.refusal
		}
		s.made[place] = st
	}
	return s.made[place]
}

func (s *streams) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

func TestStream(t *testing.T) {
	all := &streams{made: make(map[string]*waltest.Stream)}
	subject := waltest.Subject{
		Open: func(place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
			return all.at(place).Open(0, onDurable)
		},
		Refuse: all.refuse,
		Damage: func(_ waltest.Log, place string, p wal.Pos) { all.at(place).Damage(p) },
	}
	waltest.Run(t, subject)
	waltest.RunReader(t, subject, func(place string) (waltest.Reader, error) { return all.at(place).Reader(), nil })
}

func openStream(t *testing.T, s *waltest.Stream, after wal.Pos) *waltest.StreamLog {
	t.Helper()
	l, err := s.Open(after, func(wal.Pos, wal.Pos, error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // always nil
	return l
}

func enqueue(t *testing.T, l *waltest.StreamLog, n int) {
	t.Helper()
	for range n {
		if _, err := l.Enqueue([]byte("record")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStreamSealed opens a stream twice: the first process may not write it any more.
func TestStreamSealed(t *testing.T) {
	s := waltest.NewStream(1)
	a := openStream(t, s, 0)
	enqueue(t, a, 3)
	if _, err := a.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := openStream(t, s, 3)
	enqueue(t, a, 1) // it does not know yet
	if _, err := a.Barrier(t.Context()); err != nil && !errors.Is(err, wal.ErrSealed) {
		t.Errorf("barrier of the first writer: got %v, want ErrSealed", err)
	}
	if _, err := a.Enqueue(nil); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("enqueue of the first writer: got %v, want ErrSealed", err)
	}
	if err := a.Truncate(3); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("truncate of the first writer: got %v, want ErrSealed", err)
	}
	enqueue(t, b, 1)
	if p, err := b.Barrier(t.Context()); err != nil || p != 4 || b.Last() != 4 {
		t.Errorf("second writer: got position %d, %v, last is %d, want 4", p, err, b.Last())
	}
}

// TestStreamFaults injects each fault once and wants the error that stands for it.
func TestStreamFaults(t *testing.T) {
	s := waltest.NewStream(1)
	l := openStream(t, s, 0)
	enqueue(t, l, 10)
	if _, err := l.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func(from wal.Pos) error { return l.Replay(from, func(wal.Pos, []byte) error { return nil }) }
	s.Lose(8)
	if err := read(1); !errors.Is(err, wal.ErrHole) {
		t.Errorf("replay over a lost record: got %v, want ErrHole", err)
	}
	if err := l.Truncate(5); err != nil {
		t.Fatal(err)
	}
	if err := read(5); !errors.Is(err, wal.ErrTruncated) {
		t.Errorf("replay below the first record: got %v, want ErrTruncated", err)
	}
	if _, err := s.Open(11, nil); !errors.Is(err, wal.ErrHole) {
		t.Errorf("open behind the end: got %v, want ErrHole", err)
	}
	s.Capacity = 1
	enqueue(t, l, 1)
	if _, err := l.Barrier(t.Context()); err != nil && (!errors.Is(err, wal.ErrFull) || !errors.Is(err, syscall.ENOSPC)) {
		t.Errorf("full stream: got %v, want ErrFull", err)
	}
	if l.Last() != 10 {
		t.Errorf("a full stream took a record: last is %d, want 10", l.Last())
	}
}

// TestStreamRestart loses power while records are on their way: those that were reported as durable
// are there, and with them some of the others, without a gap.
func TestStreamRestart(t *testing.T) {
	for seed := range uint64(20) {
		s := waltest.NewStream(seed)
		l := openStream(t, s, 0)
		enqueue(t, l, 5)
		if _, err := l.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Hold()
		enqueue(t, l, 5)
		after := s.Restart()
		s.Release()
		if _, err := l.Barrier(t.Context()); err != nil && !errors.Is(err, waltest.ErrPower) {
			t.Errorf("barrier without power: %v", err)
		}
		again := openStream(t, after, 5)
		n := wal.Pos(0)
		if err := again.Replay(1, func(p wal.Pos, rec []byte) error { n = p; return nil }); err != nil {
			t.Error(err)
		}
		if n < 5 || n > 10 || n != again.Last() {
			t.Errorf("after a loss of power the stream has %d records, last is %d, want 5 to 10", n, again.Last())
		}
	}
}
