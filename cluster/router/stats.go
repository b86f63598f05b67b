package router

import (
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/abreast"
)

// read reads a counter of every partition that can be reached now into all, and returns a copy of
// all. A partition that cannot be reached keeps what it had.
func read[T any](r *Store, all []T, counter func(e core.Engine) T) []T {
	fresh, reached := make([]T, r.n), make([]bool, r.n)
	abreast.Each(r.n, atOnce, func(p int) {
		e, err := r.dir.Leader(ended, p)
		if err != nil {
			e, err = r.dir.Reader(ended, p)
		}
		if err == nil {
			fresh[p], reached[p] = counter(e), true
		}
	})
	r.countsMu.Lock()
	defer r.countsMu.Unlock()
	for p := range all {
		if reached[p] {
			all[p] = fresh[p]
		}
	}
	return slices.Clone(all)
}

// Renames is core.Store's. A rename to a path of another partition is not counted: its series has
// another reference afterwards.
func (r *Store) Renames() (total uint64) {
	for _, n := range read(r, r.renames, core.Engine.Renames) {
		total += n
	}
	return total
}

// Stats is core.Store's. Counters are the sums of the partitions'. Durations of checkpoints and of
// recovery are the longest. SeriesLimit is Options.MaxSeries.
func (r *Store) Stats() core.Stats {
	var total core.Stats
	for _, st := range read(r, r.stats, core.Engine.Stats) {
		addStats(&total, &st)
	}
	total.SamplesRefused += r.strays.Load()
	total.SeriesLimit = int64(r.options.MaxSeries)
	total.MemoryBytes += r.budget.used.Load()
	total.MemoryBudget += r.budget.most
	return total
}

// addStats adds the counters of a partition to the others'.
func addStats(t, st *core.Stats) {
	t.Series += st.Series
	t.Metadata += st.Metadata
	t.SamplesAccepted += st.SamplesAccepted
	t.SamplesLate += st.SamplesLate
	t.SamplesRefused += st.SamplesRefused
	t.Batches += st.Batches
	t.Checkpoints += st.Checkpoints
	t.CheckpointFailures += st.CheckpointFailures
	t.CheckpointSeconds = max(t.CheckpointSeconds, st.CheckpointSeconds)
	t.CheckpointSecondsMax = max(t.CheckpointSecondsMax, st.CheckpointSecondsMax)
	t.LogBytes += st.LogBytes
	t.LogWritten += st.LogWritten
	t.LogSyncs += st.LogSyncs
	t.SyncSeconds.Add(&st.SyncSeconds)
	t.AppendSeconds.Add(&st.AppendSeconds)
	t.FetchSeconds.Add(&st.FetchSeconds)
	t.LogFailures += st.LogFailures
	t.LogTorn += st.LogTorn
	t.DatabaseBytes += st.DatabaseBytes
	t.DatabaseFree += st.DatabaseFree
	t.DatabaseFailures += st.DatabaseFailures
	t.DatabaseReopened += st.DatabaseReopened
	t.MemoryBytes += st.MemoryBytes
	t.MemoryBudget += st.MemoryBudget
	t.RowsStored += st.RowsStored
	t.ReplayedRecords += st.ReplayedRecords
	t.RecoverySeconds = max(t.RecoverySeconds, st.RecoverySeconds)
	t.GroupsLoaded += st.GroupsLoaded
	t.GroupsDropped += st.GroupsDropped
	t.Held += st.Held
	t.Damaged += st.Damaged
	t.Newest = max(t.Newest, st.Newest)
}

// MemoryShare is core.Store's. The budget is Options.Memory: it is beside the partitions'.
func (r *Store) MemoryShare() *core.MemoryShare { return r.budget.share() }
