package wal

import (
	"time"

	"github.com/rondo-db/rondo/internal/histogram"
)

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
