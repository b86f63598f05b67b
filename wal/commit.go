package wal

import (
	"fmt"
	"runtime"
)

// chunkBytes of encoded blocks are written at once, so that a commit of any size needs little
// memory.
const chunkBytes = 4 << 20

// gatherRecords is how many records are enough for a commit: the committer then gives no time to
// appenders that may have more.
const gatherRecords = 16

// commits runs the committer, which commits one batch after the other until the log is closed and
// no record is pending.
func (l *Log) commits() {
	defer close(l.stopped)
	for {
		b := l.nextBatch()
		if b == nil {
			return
		}
		if err := l.commit(b); err != nil {
			l.fail(b, err)
		} else {
			l.succeed(b)
		}
	}
}

// nextBatch waits for records and returns all that are pending. It returns nil when the log is
// closing and none is pending.
func (l *Log) nextBatch() *batch {
	// Appenders whose wait just ended get the processor first, and put their next records into this
	// batch: with 32 appenders a sync covers 26 records instead of 16. Where many records wait
	// already, it is they that would wait longer: under full load for as long as a batch takes.
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending.count < gatherRecords {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	for l.pending.count == 0 && !l.closing {
		l.work.Wait()
	}
	if l.pending.count == 0 {
		return nil
	}
	l.inflight = l.pending
	l.pending = newBatch(l.inflight.next())
	return l.inflight
}

// succeed reports that a batch is durable.
func (l *Log) succeed(b *batch) {
	last := b.next() - 1
	l.acked.Store(uint64(last))
	l.mu.Lock()
	l.held -= b.bytes
	l.reuse(b)
	recovered := l.failed
	l.failed = false
	l.telling = true
	l.mu.Unlock()
	l.space.Broadcast()
	if recovered {
		l.o.Logger.Info("log takes records again", "position", uint64(b.first))
	}
	l.o.OnDurable(b.first, last, nil)
	l.mu.Lock()
	l.telling = false
	l.inflight = nil
	l.mu.Unlock()
	close(b.done)
}

// fail reports that a batch has failed, and the records enqueued behind it, which may depend on it.
// Nothing is enqueued until everyone knows. Then the positions are given out again.
func (l *Log) fail(b *batch, err error) {
	err = appendError(err)
	l.mu.Lock()
	l.failing, l.telling = err, true
	p := l.pending
	first := !l.failed
	l.failed = true
	l.mu.Unlock()
	l.space.Broadcast() // with FailFast those who wait for space get the error
	if first {
		l.o.Logger.Error("log could not take records, and goes on trying", "first", uint64(b.first), "last", uint64(p.next()-1), "error", err)
	}
	l.o.OnDurable(b.first, p.next()-1, err)
	l.mu.Lock()
	l.pending = newBatch(b.first)
	l.inflight = nil
	l.held = 0
	l.failing, l.telling = nil, false
	l.reuse(b)
	l.reuse(p)
	l.mu.Unlock()
	l.space.Broadcast()
	b.err, p.err = err, err
	close(b.done)
	close(p.done)
	l.count(func(s *Stats) { s.Failures++ })
}

// commit writes a batch and, with SyncAlways, syncs it. After an error nothing of the batch counts,
// and its segment is abandoned: nobody knows what a failed write or sync has left in it, and a
// second sync may succeed without having written anything.
func (l *Log) commit(b *batch) error {
	l.io.Lock()
	defer l.io.Unlock()
	if err := l.ready(); err != nil {
		return err
	}
	s := l.active
	end, raw := s.end, int64(0)
	out := l.out[:0]
	for i, k := range b.blocks {
		at := len(out)
		out = appendBlock(out, k.raw, BlockHead{Count: k.count, First: k.first, Durable: l.synced})
		sealBlock(out[at:], s.Salt)
		raw += int64(len(k.raw))
		if len(out) < chunkBytes && i < len(b.blocks)-1 {
			continue
		}
		if err := s.write(out, end, l.o.SegmentBytes, !l.o.DisablePreallocate); err != nil {
			err = fmt.Errorf("write segment %d at offset %d: %w", s.ID, end, err)
			l.abandon(false)
			return err
		}
		end += int64(len(out))
		out = out[:0]
	}
	if l.out = out; cap(out) > 2*chunkBytes {
		l.out = nil
	}
	if l.o.Sync == SyncAlways {
		if err := l.sync(s.ID, s.file); err != nil {
			l.abandon(true)
			return err
		}
		s.synced, l.synced = end, b.next()-1
	}
	wrote := end - s.end
	s.end, l.written = end, b.next()-1
	l.count(func(st *Stats) {
		st.Commits++
		st.Records += uint64(b.count)
		st.RawBytes += uint64(raw)
		st.WrittenBytes += uint64(wrote)
	})
	return nil
}
