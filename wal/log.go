package wal

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/histogram"
)

// Log is an open log. Its methods may be called at the same time.
type Log struct {
	dir     string
	o       Options
	fs      FS
	lock    io.Closer
	maxFree int           // files kept for reuse
	stopped chan struct{} // closed when the committer has returned
	ticked  chan struct{} // closed when the syncer has returned
	stop    chan struct{} // the syncer returns when it is closed

	// mu guards the records that are not yet committed. Lock order: io, mu, statsMu.
	mu       sync.Mutex
	work     sync.Cond // the committer waits here for pending records or closing
	space    sync.Cond // Enqueue waits here while held is too much or a failure is being reported
	pending  *batch    // collects what is enqueued
	inflight *batch    // is being committed; nil between commits
	held     int64     // bytes in pending and inflight
	telling  bool      // OnDurable runs
	failing  error     // OnDurable is called with this failure: nothing may be enqueued
	closing  bool
	failed   bool // the last commit failed; for the message when one works again
	spare    []*block

	acked atomic.Uint64 // the last position reported as durable

	// io guards the segments. It is held while a batch is committed.
	io      sync.Mutex
	segs    []*segment // oldest first; not empty once something was written
	active  *segment   // the last of segs, or nil: the next commit begins a new one
	nextID  uint64
	written Pos        // last position that was committed
	synced  Pos        // last position that is on the disk; with SyncAlways the same
	keep    Pos        // records at or below it may be dropped
	flight  *flight    // a sync of active that runs without io
	lost    *tail      // acknowledged, but not synced: to be copied into the next segment
	dead    []*segment // segments to remove in which nothing counts
	free    []uint64   // files to reuse
	out     []byte     // encoded blocks
	slots   slots      // the file mark
	begun   []string   // files that Open found and that never became segments
	looked  time.Time  // when the files were last seen to have their names
	tailErr error      // read-only: the damage that the log ends with

	stats   Stats // mu guards it
	statsMu sync.Mutex

	syncTimes histogram.Histogram // durations of syncs
}

// batch is what one commit writes.
type batch struct {
	first  Pos
	count  int
	bytes  int64
	blocks []*block
	err    error
	done   chan struct{} // closed when err is final
}

func newBatch(first Pos) *batch { return &batch{first: first, done: make(chan struct{})} }

// next is the position behind the batch.
func (b *batch) next() Pos { return b.first + Pos(b.count) }

// block is a part of a batch that is compressed and checked as a whole.
type block struct {
	raw   []byte
	first Pos
	count int
}

// Enqueue copies rec behind all records enqueued before and returns its position. It does not wait
// until the record is durable: Options.OnDurable or Wait report that. It waits while more than
// Options.MaxPendingBytes are pending, and, unless Options.FailFast is set, while OnDurable handles
// a failure.
func (l *Log) Enqueue(rec []byte) (Pos, error) {
	p, _, err := l.enqueue(rec)
	return p, err
}

func (l *Log) enqueue(rec []byte) (Pos, *batch, error) {
	if len(rec) > MaxRecord {
		return 0, nil, fmt.Errorf("append record of %d bytes: %w", len(rec), ErrTooLarge)
	}
	if l.o.ReadOnly {
		return 0, nil, ErrSealed
	}
	sum := checksum(rec) // before the lock: appenders do this side by side
	size := len(rec) + RecordOverhead
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closing && !(l.telling && l.o.FailFast) && (l.failing != nil || l.held > 0 && l.held+int64(size) > l.o.MaxPendingBytes) {
		l.space.Wait()
	}
	switch {
	case l.closing:
		return 0, nil, ErrClosed
	case l.failing != nil:
		return 0, nil, l.failing
	}
	b := l.pending
	p := b.next()
	var k *block
	if n := len(b.blocks); n > 0 {
		k = b.blocks[n-1]
	}
	if k == nil || len(k.raw)+size > blockBytes {
		k = l.newBlock(p)
		b.blocks = append(b.blocks, k)
	}
	k.raw = appendRecord(k.raw, rec, sum)
	k.count++
	b.count++
	b.bytes += int64(size)
	l.held += int64(size)
	if b.count == 1 {
		l.work.Signal()
	}
	return p, b, nil
}

// newBlock takes a block from those committed before. The caller holds mu.
func (l *Log) newBlock(first Pos) *block {
	if n := len(l.spare); n > 0 {
		k := l.spare[n-1]
		l.spare = l.spare[:n-1]
		k.raw, k.first, k.count = k.raw[:0], first, 0
		return k
	}
	k := &block{first: first}
	if len(l.pending.blocks) > 0 { // a big batch: do not grow step by step
		k.raw = make([]byte, 0, blockBytes)
	}
	return k
}

// spareBlocks bounds the memory kept for the next batches.
const spareBlocks = 16

// reuse keeps the blocks of a finished batch for the next ones. The caller holds mu.
func (l *Log) reuse(b *batch) {
	for _, k := range b.blocks {
		if len(l.spare) < spareBlocks && cap(k.raw) <= 2*blockBytes {
			l.spare = append(l.spare, k)
		}
	}
	b.blocks = nil
}

// Wait waits until the record at p is durable and OnDurable has returned, or returns the error with
// which the record failed. The record must not have failed before Wait is called: p may be another
// record's then. Append has no such condition.
func (l *Log) Wait(ctx context.Context, p Pos) error {
	l.mu.Lock()
	var b *batch
	switch {
	case l.inflight != nil && p >= l.inflight.first && p < l.inflight.next():
		b = l.inflight
	case p >= l.pending.first && p < l.pending.next():
		b = l.pending
	}
	l.mu.Unlock()
	switch {
	case b != nil:
		return b.wait(ctx)
	case p > Pos(l.acked.Load()):
		return fmt.Errorf("wait for position %d: not enqueued: %w", p, ErrRetry)
	}
	return nil
}

func (b *batch) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Append enqueues rec and waits until it is durable. If ctx ends first, the record may become
// durable nevertheless.
func (l *Log) Append(ctx context.Context, rec []byte) (Pos, error) {
	p, b, err := l.enqueue(rec)
	if err != nil {
		return 0, err
	}
	if err := b.wait(ctx); err != nil {
		return 0, err
	}
	return p, nil
}

// Barrier waits until all records enqueued before are on the disk, whatever Options.Sync says, and
// returns a position at or above all of them. A caller calls it before it makes durable what it
// derived from the log.
func (l *Log) Barrier(ctx context.Context) (Pos, error) {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return 0, ErrClosed
	}
	p := l.pending.next() - 1
	b := l.inflight
	if l.pending.count > 0 {
		b = l.pending
	}
	l.mu.Unlock()
	if b != nil {
		if err := b.wait(ctx); err != nil {
			return 0, fmt.Errorf("barrier at position %d: %w", p, err)
		}
	}
	if l.o.Sync == SyncAlways || l.o.ReadOnly {
		return p, nil
	}
	if err := l.syncNow(); err != nil {
		return 0, fmt.Errorf("barrier at position %d: %w", p, err)
	}
	return p, nil
}

// ID returns the id of the log.
func (l *Log) ID() ID {
	l.io.Lock()
	defer l.io.Unlock()
	return l.slots.mark.Log
}

// First returns the position of the oldest record kept. Without records it is the position of the
// next one.
func (l *Log) First() Pos {
	l.io.Lock()
	defer l.io.Unlock()
	return l.first()
}

func (l *Log) first() Pos {
	if len(l.segs) > 0 {
		return l.segs[0].First
	}
	return l.written + 1
}

// Last returns the position of the newest record that was reported as durable; 0: there never was
// one.
func (l *Log) Last() Pos { return Pos(l.acked.Load()) }

// Stats is a snapshot of what a log did since it was opened, and of what it holds.
type Stats struct {
	First, Last  Pos
	Segments     int
	Bytes        int64 // in segments, headers included
	DiskBytes    int64 // the same with space reserved ahead and files kept for reuse
	PendingBytes int64 // enqueued and not yet durable

	Commits      uint64
	Records      uint64
	RawBytes     uint64 // of records, before compression
	WrittenBytes uint64 // of blocks
	Syncs        uint64
	SyncTime     time.Duration
	SyncSeconds  histogram.Snapshot // durations of syncs
	Failures     uint64             // commits that failed
	TornBytes    int64              // cut off the tail by Open
}

func (l *Log) count(fn func(*Stats)) {
	l.statsMu.Lock()
	defer l.statsMu.Unlock()
	fn(&l.stats)
}

// Stats returns a snapshot. It waits for a commit under way.
func (l *Log) Stats() Stats {
	l.io.Lock()
	defer l.io.Unlock()
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	l.statsMu.Lock()
	s := l.stats
	l.statsMu.Unlock()
	s.SyncSeconds = l.syncTimes.Snapshot()
	s.First, s.Last, s.Segments, s.PendingBytes = l.first(), l.Last(), len(l.segs), held
	for _, seg := range l.segs {
		s.Bytes += seg.end
		s.DiskBytes += seg.size
	}
	s.DiskBytes += int64(len(l.free)) * l.o.SegmentBytes
	return s
}

// Bytes returns the length of all segments, without the space reserved ahead.
func (l *Log) Bytes() int64 { return l.Stats().Bytes }
