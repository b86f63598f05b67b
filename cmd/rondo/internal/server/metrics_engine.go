package server

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// figures returns the current figures of the store and the process. Their order and names never
// change.
func (s *server) figures() []figure {
	fs := storeFigures(s.store.Stats())
	fs = append(fs, processFigures(s.started)...)
	fs = append(
		fs,
		figure{"expired", "rondo_expired_total", rra.Derive, "Paths whose metadata was forgotten after silence.", float64(s.swept.expired.Load())},
		figure{"series_expired", "rondo_series_expired_total", rra.Derive, "Series dropped after silence.", float64(s.swept.dropped.Load())},
	)
	fs = append(fs, ruleFigures(s.rules.Counts())...)
	fs = append(fs, backupFigures(s.backups.State())...)
	fs = append(fs, s.reloadFigures()...)
	fs = append(fs, s.clusterFigures()...)
	return append(fs, s.httpFigures()...)
}

func storeFigures(st core.Stats) []figure {
	return []figure{
		{"series", "rondo_series", rra.Gauge, "Series in the catalogue.", float64(st.Series)},
		{"", "rondo_series_limit", rra.Gauge, "Series that there may be (--max-series).", float64(st.SeriesLimit)},
		{"metadata", "rondo_metadata", rra.Gauge, "Paths with metadata.", float64(st.Metadata)},
		{"samples", "rondo_samples_accepted_total", rra.Derive, "Samples stored.", float64(st.SamplesAccepted)},
		{"samples_late", "rondo_samples_late_total", rra.Derive, "Samples refused because they were not after the last of their series.", float64(st.SamplesLate)},
		{"samples_refused", "rondo_samples_refused_total", rra.Derive, "Samples refused for another reason.", float64(st.SamplesRefused)},
		{"samples_held", "rondo_samples_held", rra.Gauge, "Samples in the reorder window.", float64(st.Held)},
		{"batches", "rondo_batches_total", rra.Derive, "Batches appended.", float64(st.Batches)},
		{"rows", "rondo_rows_stored_total", rra.Derive, "Consolidated rows written to the database.", float64(st.RowsStored)},
		{"checkpoints", "rondo_checkpoints_total", rra.Derive, "Checkpoints completed.", float64(st.Checkpoints)},
		{"checkpoint_failures", "rondo_checkpoint_failures_total", rra.Derive, "Checkpoints that failed; they are tried again.", float64(st.CheckpointFailures)},
		{"checkpoint_seconds", "rondo_checkpoint_seconds", rra.Gauge, "Duration of the last checkpoint.", st.CheckpointSeconds},
		{"", "rondo_checkpoint_seconds_max", rra.Gauge, "Duration of the longest checkpoint.", st.CheckpointSecondsMax},
		{"log_bytes", "rondo_log_bytes", rra.Gauge, "Length of the log.", float64(st.LogBytes)},
		{"log_written", "rondo_log_written_bytes_total", rra.Derive, "Bytes written to the log.", float64(st.LogWritten)},
		{"", "rondo_log_syncs_total", rra.Derive, "Syncs of the log.", float64(st.LogSyncs)},
		{"log_failures", "rondo_log_failures_total", rra.Derive, "Writes or syncs of the log that failed.", float64(st.LogFailures)},
		{"", "rondo_log_torn_bytes", rra.Gauge, "Bytes cut off the end of the log when it was opened.", float64(st.LogTorn)},
		{"database_bytes", "rondo_database_bytes", rra.Gauge, "Size of the database file.", float64(st.DatabaseBytes)},
		{"database_free", "rondo_database_free_bytes", rra.Gauge, "Free pages in the database file.", float64(st.DatabaseFree)},
		{"", "rondo_database_commit_failures_total", rra.Derive, "Commits to the database file that failed.", float64(st.DatabaseFailures)},
		{"", "rondo_database_reopened_total", rra.Derive, "Times that the database file was opened anew after a failed commit.", float64(st.DatabaseReopened)},
		{"", "rondo_database_damaged", rra.Gauge, "Places of damage met in the database since it was opened; see rondo check --repair.", float64(st.Damaged)},
		{"", "rondo_memory_budget_bytes", rra.Gauge, "What rondo_memory_bytes may reach (--memory).", float64(st.MemoryBudget)},
		{"memory_bytes", "rondo_memory_bytes", rra.Gauge, "States, rows not yet stored and queues.", float64(st.MemoryBytes)},
		{"", "rondo_groups_loaded", rra.Gauge, "Groups of series whose state is in memory.", float64(st.GroupsLoaded)},
		{"", "rondo_groups_dropped_total", rra.Derive, "Groups of series unloaded to keep within the memory budget.", float64(st.GroupsDropped)},
		{"", "rondo_replayed_records", rra.Gauge, "Records replayed when the store was opened.", float64(st.ReplayedRecords)},
		{"", "rondo_recovery_seconds", rra.Gauge, "Duration of the recovery when the store was opened.", st.RecoverySeconds},
	}
}

func backupFigures(st backups.State) []figure {
	last := 0.0
	if !st.Last.IsZero() {
		last = float64(st.Last.UnixMilli()) / 1000
	}
	return []figure{
		{"", "rondo_backups_total", rra.Derive, "Backups made and checked (--backup-to).", float64(st.Made)},
		{"", "rondo_backup_failures_total", rra.Derive, "Backups that failed; they are tried again.", float64(st.Failed)},
		{"", "rondo_backup_last_success_timestamp_seconds", rra.Gauge, "When the newest backup was begun, seconds since 1970; 0: none is known.", last},
		{"", "rondo_backup_last_seconds", rra.Gauge, "Duration of the newest backup, with checking it.", st.Took.Seconds()},
		{"", "rondo_backup_last_bytes", rra.Gauge, "Size of the newest backup.", float64(st.Bytes)},
	}
}

func processFigures(started time.Time) []figure {
	fs := []figure{
		{"goroutines", "go_goroutines", rra.Gauge, "Goroutines that exist.", float64(runtime.NumGoroutine())},
		{"heap_bytes", "go_memstats_heap_alloc_bytes", rra.Gauge, "Bytes of the Go heap in use.", runtimeMetric("/memory/classes/heap/objects:bytes")},
		{"", "go_memstats_sys_bytes", rra.Gauge, "Bytes obtained from the system by the Go runtime.", runtimeMetric("/memory/classes/total:bytes")},
		{"", "go_gc_cycles_total", rra.Derive, "Garbage collections completed.", runtimeMetric("/gc/cycles/total:gc-cycles")},
		{"", "process_start_time_seconds", rra.Gauge, "Start of the process, seconds since 1970.", float64(started.UnixMilli()) / 1000},
	}
	if cpu, ok := processorTime(); ok {
		fs = append(fs, figure{"cpu_seconds", "process_cpu_seconds_total", rra.DDerive, "User and system time spent.", cpu.Seconds()})
	}
	if rss, ok := residentBytes(); ok {
		fs = append(fs, figure{"resident_bytes", "process_resident_memory_bytes", rra.Gauge, "Resident memory, mapped files included.", rss})
	}
	return fs
}

// runtimeMetric returns one figure of the Go runtime.
func runtimeMetric(name string) float64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return float64(s[0].Value.Uint64())
}

// residentBytes reads the size of the resident set from /proc. It returns false on systems without
// /proc.
func residentBytes() (float64, bool) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(data))
	if len(f) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(f[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}
