package figures

import (
	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

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

// writeTimes writes histograms of how long the store's operations take.
func writeTimes(w *metrics.Writer, st core.Stats) {
	writeSeconds(w, "rondo_append_seconds", "From the arrival of a batch of samples until it was durable and applied.", st.AppendSeconds)
	writeSeconds(w, "rondo_log_sync_seconds", "Syncs of the log.", st.SyncSeconds)
	writeSeconds(w, "rondo_fetch_seconds", "Reads of rows of one or more series.", st.FetchSeconds)
}
