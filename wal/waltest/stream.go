package waltest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"github.com/rondo-db/rondo/wal"
)

// A Stream simulates in memory what a replicated stream keeps. It outlives the processes that write
// it. The process that opened it last is its only writer: the stream refuses all others. The fields
// and methods below inject faults.
type Stream struct {
	id      wal.ID
	mu      sync.Mutex
	rnd     *rand.Rand
	first   wal.Pos  // position of records[0]
	records [][]byte // durable; nil: lost
	damaged map[wal.Pos]bool
	bytes   int64
	writer  writer
	dead    bool // power was lost
	commits int
	cutAt   int // the commit in which power is lost; 0: none

	held  sync.RWMutex  // locked by Hold
	grown chan struct{} // closed when there are more records, or power is lost

	// Capacity bounds the bytes of all records; 0: unbounded. What goes beyond fails with
	// wal.ErrFull.
	Capacity int64
	// Fault is asked before records become durable. If it returns an error, they are refused: with
	// wal.ErrFull if the error is ENOSPC, else with wal.ErrRetry.
	Fault func(first, last wal.Pos) error
	// Cut is asked before a reader gives away the record at p. An error ends its Tail.
	Cut func(p wal.Pos) error
}

// A writer is a process's end of a stream.
type writer interface {
	// underway returns the records from position from on that are not reported as durable.
	underway(from wal.Pos) [][]byte
}

// NewStream returns an empty stream. How it divides records into commits, and what survives a loss
// of power, follows from seed.
func NewStream(seed uint64) *Stream {
	return &Stream{
		id: wal.ID(fmt.Appendf(nil, "%016x", seed)), rnd: rand.New(rand.NewPCG(seed, 2)),
		first: 1, damaged: make(map[wal.Pos]bool), grown: make(chan struct{}),
	}
}

// Hold keeps records from becoming durable until Release.
func (s *Stream) Hold() { s.held.Lock() }

// Release ends Hold.
func (s *Stream) Release() { s.held.Unlock() }

// Damage makes the record at p unreadable: Replay returns a *wal.CorruptError there.
func (s *Stream) Damage(p wal.Pos) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged[p] = true
}

// Lose removes the record at p: Replay returns wal.ErrHole there.
func (s *Stream) Lose(p wal.Pos) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[p-s.first] = nil
}

// CutAt makes the stream lose power in the n-th commit from now on.
func (s *Stream) CutAt(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutAt = s.commits + n
}

// Restart returns the stream as it is after power was lost everywhere; unless it is lost already,
// it is lost now. All durable records are there, and so may be the first few that were enqueued.
// The old stream answers ErrPower.
func (s *Stream) Restart() *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dead {
		s.cut()
	}
	n := NewStream(s.rnd.Uint64())
	n.id, n.Cut = s.id, s.Cut
	n.first, n.records, n.bytes, n.damaged, n.Capacity = s.first, slices.Clone(s.records), s.bytes, s.damaged, s.Capacity
	return n
}

// cut ends the stream. Some of the records that are on their way are kept. s.mu is held.
func (s *Stream) cut() {
	s.dead = true
	defer s.wakeReaders()
	if s.writer != nil {
		recs := s.writer.underway(s.last() + 1)
		s.keep(recs[:s.rnd.IntN(len(recs)+1)])
	}
}

// last returns the position of the newest record. s.mu is held.
func (s *Stream) last() wal.Pos { return s.first + wal.Pos(len(s.records)) - 1 }

// keep adds records. s.mu is held.
func (s *Stream) keep(recs [][]byte) {
	for _, rec := range recs {
		s.records = append(s.records, rec)
		s.bytes += int64(len(rec))
	}
	s.wakeReaders()
}

// wakeReaders makes the waiting readers look again. s.mu is held.
func (s *Stream) wakeReaders() {
	close(s.grown)
	s.grown = make(chan struct{})
}

// commit makes recs durable, in whole or not at all.
func (s *Stream) commit(by writer, first wal.Pos, recs [][]byte) error {
	s.held.RLock()
	defer s.held.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(0)
	for _, rec := range recs {
		size += int64(len(rec))
	}
	if s.commits++; s.commits == s.cutAt && !s.dead {
		s.cut()
	}
	switch {
	case s.dead:
		return ErrPower
	case s.writer != by:
		return wal.ErrSealed
	case first != s.last()+1:
		return fmt.Errorf("%w: record %d does not follow on %d", wal.ErrHole, first, s.last())
	case s.Capacity > 0 && s.bytes+size > s.Capacity:
		return fmt.Errorf("%w: %w", wal.ErrFull, syscall.ENOSPC)
	}
	if s.Fault != nil {
		if err := s.Fault(first, first+wal.Pos(len(recs))-1); errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("%w: %w", wal.ErrFull, err)
		} else if err != nil {
			return fmt.Errorf("%w: %w", wal.ErrRetry, err)
		}
	}
	s.keep(recs)
	return nil
}

// share returns how many of n records the next commit takes.
func (s *Stream) share(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 1 + s.rnd.IntN(n)
}

// truncate removes the records at and below upto.
func (s *Stream) truncate(by writer, upto wal.Pos) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.dead:
		return ErrPower
	case s.writer != by:
		return wal.ErrSealed
	}
	for ; s.first <= upto && len(s.records) > 0; s.first++ {
		s.bytes -= int64(len(s.records[0]))
		s.records = s.records[1:]
	}
	return nil
}

// read returns the records from position from on, and the position of the first of them; 0: from
// the oldest on.
func (s *Stream) read(from wal.Pos) ([][]byte, wal.Pos, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readHeld(from)
}

// readHeld is read. s.mu is held.
func (s *Stream) readHeld(from wal.Pos) ([][]byte, wal.Pos, error) {
	if from == 0 {
		from = s.first
	}
	switch {
	case s.dead:
		return nil, 0, ErrPower
	case from < s.first:
		return nil, 0, fmt.Errorf("replay from position %d: %w", from, &wal.TruncatedError{First: s.first})
	case from > s.last()+1:
		return nil, 0, fmt.Errorf("replay from position %d: %w: last is %d", from, wal.ErrHole, s.last())
	}
	return slices.Clone(s.records[from-s.first:]), from, nil
}

// readable returns the error that stands at position p, where rec was read.
func (s *Stream) readable(p wal.Pos, rec []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.damaged[p]:
		return &wal.CorruptError{Segment: 1, Offset: int64(p), Err: errors.New("the record does not match its checksum")}
	case rec == nil:
		return fmt.Errorf("%w: record %d", wal.ErrHole, p)
	}
	return nil
}
