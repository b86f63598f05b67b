package wal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
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
	stop    chan struct{} // tells the syncer to return

	// mu guards the way in. Lock order: io before mu.
	mu       sync.Mutex
	work     sync.Cond // the committer waits here for pending records or closing
	space    sync.Cond // Enqueue waits here while held is too much or a failure is being told
	pending  *batch    // collects what is enqueued
	inflight *batch    // is being committed; nil between commits
	held     int64     // bytes in pending and inflight
	telling  bool      // OnDurable is being called
	failing  error     // OnDurable is being told of this failure: nothing may be enqueued
	closing  bool
	failed   bool // the last commit failed; for the message when one works again
	spare    []*block

	acked atomic.Uint64 // the last position told as durable

	// io guards the segments and is held for the length of a commit.
	io      sync.Mutex
	segs    []*segment // oldest first; not empty once something was written
	active  *segment   // the last of segs, or nil: the next commit begins a new one
	nextID  uint64
	written Pos       // last position that was committed
	synced  Pos       // last position that is on the disk; with SyncAlways the same
	keep    Pos       // all at or below it may be dropped
	flight  *flight   // a sync of active that runs without io
	lost    *tail     // acknowledged with SyncInterval or SyncNone, and then not synced: goes into the next segment
	dead    []uint64  // segments to remove in which nothing counts
	free    []uint64  // files to reuse
	out     []byte    // encoded blocks
	slots   slots     // the file mark
	begun   []string  // files that Open found without a name that counts
	looked  time.Time // when the names of the files were last seen to be theirs
	tailErr error     // damage a read-only log ends with

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

// Open opens the log in dir, which is made if there is none, after whatever crash. It returns a *CorruptError
// if something that was durable cannot be read at its end, and an error wrapping ErrLocked if another process
// has it open; what is damaged further up is told by Replay.
func Open(dir string, o Options) (l *Log, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l, err = nil, fmt.Errorf("open log %s: %w", dir, err)
		}
	}()
	l = &Log{dir: dir, o: o, fs: o.FS, stopped: make(chan struct{}), ticked: make(chan struct{}), stop: make(chan struct{})}
	l.work.L, l.space.L = &l.mu, &l.mu
	l.nextID = 1
	if !o.DisablePreallocate {
		l.maxFree = int(min(max(freeBytes/o.SegmentBytes, 1), mostFree))
	}
	if o.Holds == (Mark{}) && !o.ReadOnly {
		if err := l.fs.MkdirAll(dir); err != nil {
			return l, err
		}
	}
	if !o.ReadOnly {
		l.lock, err = l.fs.Lock(filepath.Join(dir, lockName))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the folder is missing: %w", ErrHole, err)
		}
		if err != nil {
			return l, err
		}
	}
	fresh := false
	// Beside a process that writes, a reader may see names that go and a tail that grows under its eyes.
	for range 3 {
		l.segs, l.dead, l.tailErr = nil, nil, nil
		if fresh, err = l.list(); err == nil && !fresh {
			err = l.load()
		} else if err == nil {
			l.written, l.synced = o.After, o.After
		}
		if !o.ReadOnly || err == nil && l.tailErr == nil {
			break
		}
	}
	if o.Holds != (Mark{}) && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: the folder is missing: %w", ErrHole, err)
	}
	if err == nil && fresh && o.Holds != (Mark{}) { // who only reads cannot do anything with it either
		err = fmt.Errorf("%w: the folder is empty, and the log reached position %d at least", ErrHole, o.Holds.Last)
	}
	if err == nil && !o.ReadOnly {
		err = l.start(fresh)
	}
	if err != nil {
		return l, errors.Join(err, l.release())
	}
	l.acked.Store(uint64(l.written))
	l.pending = newBatch(l.written + 1)
	if o.ReadOnly {
		close(l.stopped)
		close(l.ticked)
		return l, nil
	}
	go l.commits()
	go l.syncs()
	return l, nil
}

// start makes a log that was listed and loaded ready for records.
func (l *Log) start(fresh bool) error {
	l.tidy()
	if fresh {
		m := Mark{Last: l.o.After}
		l.o.random(m.Log[:])
		return l.makeMark(m)
	}
	if len(l.segs) == 0 {
		return nil
	}
	if err := l.writeMark(l.markNow()); err != nil {
		return err
	}
	return l.bury()
}

// release gives back file and lock.
func (l *Log) release() error {
	var errs []error
	if l.active != nil {
		errs = append(errs, l.active.file.Close())
		l.active = nil
	}
	if l.lost != nil {
		_ = l.lost.file.Close() // its content is copied or lost
		l.lost = nil
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Close())
		l.lock = nil
	}
	return errors.Join(errs...)
}

// Enqueue copies rec behind all records enqueued before and returns its position. It does not wait for the
// record to be durable: Options.OnDurable or Wait tell. It waits while more than Options.MaxPendingBytes are
// enqueued, and, unless Options.FailFast is set, while OnDurable is told of a failure.
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
	size := len(rec) + recordOverhead
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

// newBlock takes a block from those committed before. mu is held.
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

// reuse keeps the blocks of a finished batch for the next ones. mu is held.
func (l *Log) reuse(b *batch) {
	for _, k := range b.blocks {
		if len(l.spare) < spareBlocks && cap(k.raw) <= 2*blockBytes {
			l.spare = append(l.spare, k)
		}
	}
	b.blocks = nil
}

// Wait waits until the record that Enqueue gave position p is durable and OnDurable was told. It returns the error that befell it if
// it is not. Position p must not have failed before: it is given out again then. Append has no such condition.
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

// Append enqueues rec and waits until it is durable. If ctx ends first the record may become durable all the same.
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

// Barrier waits until all that was enqueued before is on the disk, whatever Options.Sync says, and returns a
// position at or above all of it. A caller that makes durable what it derived from the log calls it before.
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

// First is the position of the oldest record kept; the next to be given out if there is none.
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

// Last is the position of the last record that was told as durable, 0 if there never was one.
func (l *Log) Last() Pos { return Pos(l.acked.Load()) }

// Close commits what is enqueued, syncs and gives the folder back. Enqueue answers ErrClosed from now on.
// Space that was reserved is returned, so that a closed log is as long as what is in it.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		<-l.stopped
		return nil
	}
	l.closing = true
	l.work.Broadcast()
	l.space.Broadcast()
	l.mu.Unlock()
	if l.o.ReadOnly {
		return nil
	}
	close(l.stop)
	<-l.stopped
	<-l.ticked
	l.io.Lock()
	defer l.io.Unlock()
	err := l.syncActive()
	if l.lost != nil {
		err = l.begin()
	}
	if s := l.active; s != nil && s.size > s.end {
		_ = s.file.Truncate(s.end) // it costs space only: Open finds the end by itself
	}
	if l.lock != nil && l.lost == nil { // from now on damage at the end is no torn tail
		err = errors.Join(err, l.writeMark(l.markNow()))
		_ = l.bury() // the next Open tries again
	}
	for _, id := range l.free {
		_ = l.fs.Remove(segmentName(l.dir, id, freeSuffix)) // it costs space only, and the next Open keeps it
	}
	l.free = nil
	if err = errors.Join(err, l.release()); err != nil {
		return fmt.Errorf("close log %s: %w", l.dir, err)
	}
	return nil
}
