package core

import (
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/histogram"
	"github.com/rondo-db/rondo/rra"
)

// counters are the counters of Stats that belong to no part of the store.
type counters struct {
	recovery        time.Duration       // how long Open took
	replayedRecords atomic.Uint64       // how many records Open replayed
	fetches         histogram.Histogram // calls of Fetch and FetchMany
}

// Stats is a snapshot of the store's counters.
type Stats struct {
	Series               int64
	SeriesLimit          int64 // how many series there may be
	Metadata             int64 // paths with metadata
	SamplesAccepted      uint64
	SamplesLate          uint64
	SamplesRefused       uint64
	Batches              uint64
	Checkpoints          uint64
	CheckpointFailures   uint64
	CheckpointSeconds    float64 // of the last one
	CheckpointSecondsMax float64
	LogBytes             int64  // length of the log
	LogWritten           uint64 // bytes of records since the store was opened, compressed
	LogSyncs             uint64
	SyncSeconds          histogram.Snapshot // how long syncs of the log took
	// how long batches took until they were durable and applied
	AppendSeconds histogram.Snapshot
	FetchSeconds  histogram.Snapshot // how long calls of Fetch and FetchMany took
	LogFailures   uint64
	LogTorn       int64 // bytes cut off the end of the log at open
	DatabaseBytes int64 // size of the database file
	DatabaseFree  int64 // free pages in it, bytes
	// DatabaseFailures counts commits that failed. After each the file is opened anew before it is
	// written again; DatabaseReopened counts how often that was done.
	DatabaseFailures, DatabaseReopened uint64
	MemoryBytes                        int64 // states, rows not yet stored, coding contexts
	MemoryBudget                       int64
	RowsStored                         uint64
	ReplayedRecords                    uint64
	RecoverySeconds                    float64
	GroupsLoaded, GroupsDropped        int64
	Held                               int64 // samples in the reorder window
	// places of damage met in the database since it was opened
	Damaged int64
	// time of the newest sample or text, of any path, that came since the store was opened, or 0 if
	// no sample came; refused samples count
	Newest rra.Time
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	if s.enter() != nil {
		return Stats{}
	}
	defer s.leave()
	st := Stats{
		Series: s.catalogue.count.Load(), SeriesLimit: int64(s.options.MaxSeries), Metadata: s.metadata.count.Load(), Batches: s.appender.batches.Load(), LogFailures: s.appender.failures.Load(),
		MemoryBytes: s.space.Used(), MemoryBudget: s.options.Memory, RowsStored: s.space.rowsStored.Load(),
		ReplayedRecords: s.replayedRecords.Load(), RecoverySeconds: s.recovery.Seconds(),
		GroupsLoaded: s.space.loaded.Load(), GroupsDropped: s.space.unloaded.Load(), Held: s.space.held.Load(), Damaged: s.damage.Count(), Newest: s.newest(),
	}
	for _, sh := range s.appender.shards {
		st.SamplesAccepted += sh.stats.accepted.Load()
		st.SamplesLate += sh.stats.late.Load()
		st.SamplesRefused += sh.stats.other.Load()
	}
	cp := &s.checkpoints
	st.Checkpoints, st.CheckpointFailures = cp.written.Load(), cp.failures.Load()
	st.CheckpointSeconds, st.CheckpointSecondsMax = time.Duration(cp.last.Load()).Seconds(), time.Duration(cp.longest.Load()).Seconds()
	st.AppendSeconds, st.FetchSeconds = s.appender.seconds.Snapshot(), s.fetches.Snapshot()
	l := s.logStats()
	st.SyncSeconds = l.SyncSeconds
	st.LogBytes, st.LogWritten, st.LogSyncs, st.LogTorn = l.Bytes, l.WrittenBytes, l.Syncs, l.TornBytes
	st.DatabaseBytes, st.DatabaseFree = s.db.Size()
	st.DatabaseFailures, st.DatabaseReopened = s.db.Failures(), s.db.Reopened()
	return st
}
