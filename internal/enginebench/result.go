package enginebench

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rondo-db/rondo/engine/core"
)

// A Result is what Ingest measured. Its JSON form has the figures of the first group and no others.
type Result struct {
	// until all is acknowledged and the final checkpoint is done
	SamplesPerSecond float64 `json:"samples_per_second"`
	// user and system, all threads, the generator included
	CPUSecondsPerMillion  float64 `json:"cpu_seconds_per_million"`
	WrittenBytesPerSample float64 `json:"written_bytes_per_sample"` // write_bytes of /proc/self/io
	// blocks of the folder after the final checkpoint
	DiskBytesPerSample float64 `json:"disk_bytes_per_sample"`
	// of the load, until the final checkpoint is done; the series were there before
	PeakRSSBytes         int64   `json:"peak_rss_bytes"`
	AckP50Seconds        float64 `json:"ack_p50_seconds"` // Submit to the return of Wait
	AckP99Seconds        float64 `json:"ack_p99_seconds"`
	CheckpointMaxSeconds float64 `json:"checkpoint_max_seconds"`
	// 360 rows of 10 s of one series, warm
	FetchOneP50Seconds float64 `json:"fetch_one_p50_seconds"`
	FetchOneP99Seconds float64 `json:"fetch_one_p99_seconds"`
	// the same of 1,000 series drawn from all
	FetchThousandP50Seconds float64 `json:"fetch_thousand_p50_seconds"`
	// Open and the first fetch, after kill -9 with a full log
	RecoverySeconds float64 `json:"recovery_seconds"`

	Series  int   `json:"-"`
	Samples int64 `json:"-"`
	// Open, create all series, Close: in none of the figures
	CreateSeconds           float64 `json:"-"`
	CreateCPUSeconds        float64 `json:"-"`
	CreateWrittenBytes      int64   `json:"-"`
	CreatePeakRSSBytes      int64   `json:"-"`
	AppendSeconds           float64 `json:"-"` // until all is acknowledged
	FinalCheckpointSeconds  float64 `json:"-"`
	GeneratorCPUPerMillion  float64 `json:"-"` // part of CPUSecondsPerMillion
	FetchTenHostsP50Seconds float64 `json:"-"` // 1,000 series that are ten whole hosts
	PeakAnonBytes           int64   `json:"-"` // of PeakRSSBytes, what is not pages of files
	FetchPeakRSSBytes       int64   `json:"-"` // of the fetches, which come after the load
	AckP999Seconds          float64 `json:"-"`
	DiskP50Seconds          float64 `json:"-"` // one write of 64 kB and its fdatasync
	DiskP99Seconds          float64 `json:"-"`
	// PeakRSSBytes counts from Open, not from the start of the process
	PeakReset         bool       `json:"-"`
	Verified          int64      `json:"-"` // values compared after ingest
	Opened            opened     `json:"-"`
	RecoveredLogBytes int64      `json:"-"`
	Hours             []Hour     `json:"-"`
	Stats             core.Stats `json:"-"` // after the final checkpoint
}

// An Hour is the store after an hour of the load.
type Hour struct {
	Hour          int
	Seconds       float64 // since the first append
	Checkpoints   uint64
	DatabaseBytes int64
	DatabaseFree  int64
	LogBytes      int64
	MemoryBytes   int64
}

// WriteJSON writes the figures as one object.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes everything measured, for people.
func (r *Result) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) // Flush returns the error
	}
	mb := func(n int64) float64 { return float64(n) / 1e6 }
	line("series", "%d, created before in %.2f s, %.1f MB written, peak memory %.1f MB",
		r.Series, r.CreateSeconds, mb(r.CreateWrittenBytes), mb(r.CreatePeakRSSBytes))
	line("samples", "%d", r.Samples)
	line("samples a second", "%.0f (appends %.2f s, final checkpoint %.2f s)", r.SamplesPerSecond, r.AppendSeconds, r.FinalCheckpointSeconds)
	line("CPU seconds a million", "%.4f (%.4f of it the generator)", r.CPUSecondsPerMillion, r.GeneratorCPUPerMillion)
	line("bytes written a sample", "%.2f (log %.2f)", r.WrittenBytesPerSample, float64(r.Stats.LogWritten)/float64(r.Samples))
	line("bytes on disk a sample", "%.2f (database %.1f MB, %.1f MB of it free)", r.DiskBytesPerSample, mb(r.Stats.DatabaseBytes), mb(r.Stats.DatabaseFree))
	since := ""
	if !r.PeakReset {
		since = ", since the start of the process"
	}
	line("peak memory", "%.1f MB (%.1f MB without pages of files%s), with fetches %.1f MB", mb(r.PeakRSSBytes), mb(r.PeakAnonBytes), since, mb(r.FetchPeakRSSBytes))
	line("acknowledged after", "p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms", r.AckP50Seconds*1e3, r.AckP99Seconds*1e3, r.AckP999Seconds*1e3)
	line("64 kB and fdatasync", "p50 %.2f ms, p99 %.2f ms", r.DiskP50Seconds*1e3, r.DiskP99Seconds*1e3)
	line("checkpoints", "%d, the longest %.3f s", r.Stats.Checkpoints, r.CheckpointMaxSeconds)
	line("one series, 360 rows", "p50 %.1f us, p99 %.1f us", r.FetchOneP50Seconds*1e6, r.FetchOneP99Seconds*1e6)
	line("1,000 series, 360 rows", "p50 %.2f ms drawn from all, %.2f ms of ten hosts", r.FetchThousandP50Seconds*1e3, r.FetchTenHostsP50Seconds*1e3)
	if o := r.Opened; r.RecoverySeconds > 0 {
		line("recovery after kill -9", "%.3f s (the engine says %.3f), log %.1f MB, %d records, peak memory %.1f MB (%.1f MB)",
			r.RecoverySeconds, o.EngineSeconds, mb(r.RecoveredLogBytes), o.Replayed, mb(o.PeakRSSBytes), mb(o.PeakAnonBytes))
	}
	if r.Verified > 0 {
		line("verified", "%d values after ingest, %d after recovery, all equal", r.Verified, r.Opened.Verified)
	}
	if len(r.Hours) > 1 {
		line("", "")
		// as above
		_, _ = fmt.Fprintln(t, "hour\tseconds\tcheckpoints\tdatabase MB\tfree MB\tlog MB\tmemory MB")
		for _, h := range r.Hours {
			_, _ = fmt.Fprintf(t, "%d\t%.1f\t%d\t%.1f\t%.1f\t%.1f\t%.1f\n", // as above
				h.Hour, h.Seconds, h.Checkpoints, mb(h.DatabaseBytes), mb(h.DatabaseFree), mb(h.LogBytes), mb(h.MemoryBytes))
		}
	}
	return t.Flush()
}

// An opened is the report of a child that opened a store.
type opened struct {
	OpenSeconds   float64 // Open and the first fetch
	EngineSeconds float64 // the same, as Stats measured it
	Replayed      uint64  // records
	PeakRSSBytes  int64
	PeakAnonBytes int64
	Verified      int64
}
