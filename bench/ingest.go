package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newIngest(common *common) *cobra.Command {
	o := ingestOptions{comparison: comparison{common: common}}
	c := &cobra.Command{
		Use:   "ingest",
		Short: "Compare the store with Prometheus' TSDB",
		Long: `Runs "rondo bench ingest" and promtsdb, which puts the same load on Prometheus' TSDB
as a program that embeds it would. Both are run --times times, alternating; each figure
is the median. The last column is rondo's figure divided by the TSDB's.

rondo acknowledges after fdatasync and makes every archive. The TSDB acknowledges
samples that are in the page cache, and keeps them as they are.

promtsdb is a program of its own, because the TSDB links much that rondo does not:
go build -C bench -o FOLDER ./promtsdb makes it. It is looked for beside this
program and in the PATH; where it is missing, rondo is measured alone.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := c.Flags()
	f.IntVar(&o.series, "series", 100_000, "number of series, rounded up to whole hosts of 100")
	f.IntVar(&o.minutes, "minutes", 60, "minutes of readings, one every 10 s")
	f.IntVar(&o.archives, "archives", 5, "archives of rondo's series: 5, or 15 as collectd makes them")
	f.IntVar(&o.times, "times", 3, "how often each is run")
	f.Uint64Var(&o.seed, "seed", 1, "what the readings follow from")
	f.StringVar(&o.promtsdb, "promtsdb", "", "the `program` promtsdb (default: the one beside this program, else the one in the PATH)")
	o.addFlags(f)
	return c
}

type ingestOptions struct {
	comparison
	series, minutes, archives, times int
	seed                             uint64
	promtsdb                         string
}

// An ingested is what both programs print of one run.
type ingested struct {
	SamplesPerSecond     float64 `json:"samples_per_second"`
	CPUSecondsPerMillion float64 `json:"cpu_seconds_per_million"`
	PeakRSSBytes         float64 `json:"peak_rss_bytes"`
	AckP50Seconds        float64 `json:"ack_p50_seconds"`
	AckP99Seconds        float64 `json:"ack_p99_seconds"`
	RecoverySeconds      float64 `json:"recovery_seconds"`
}

func (o *ingestOptions) run(cmd *cobra.Command) (err error) {
	if o.times < 1 {
		return fmt.Errorf("--times %d: must be at least 1", o.times)
	}
	rondo, err := o.findRondo()
	if err != nil {
		return err
	}
	promtsdb := o.other(cmd, func() (string, error) { return find("promtsdb", "--promtsdb", o.promtsdb) })
	dir, remove, err := workFolder(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	seed := strconv.FormatUint(o.seed, 10)
	var ours, theirs []ingested // one a run
	for range o.times {
		r, err := o.measure(cmd.Context(), filepath.Join(dir, "rondo"), rondo, "bench", "ingest", "--json", "--hours", "0",
			"--minutes", strconv.Itoa(o.minutes), "--archives", strconv.Itoa(o.archives), "--series", strconv.Itoa(o.series), "--seed", seed)
		if err != nil {
			return err
		}
		ours = append(ours, r)
		if promtsdb == "" {
			continue
		}
		if r, err = o.measure(cmd.Context(), filepath.Join(dir, "tsdb"), promtsdb, "--readings", strconv.Itoa(o.minutes*6),
			"--series", strconv.Itoa(o.series), "--seed", seed); err != nil {
			return err
		}
		theirs = append(theirs, r)
	}
	if o.json {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		return e.Encode(map[string][]ingested{"rondo": ours, "promtsdb": theirs})
	}
	return writeIngested(cmd.OutOrStdout(), ours, theirs)
}

// measure runs a program on a folder, which it removes, and returns what the program printed.
func (o *ingestOptions) measure(ctx context.Context, dir, program string, args ...string) (r ingested, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cmd := exec.CommandContext(ctx, program, append(args, "--dir", dir)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return r, nil
}

// writeIngested prints the median of each figure, and the ratio.
func writeIngested(w io.Writer, ours, theirs []ingested) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "\trondo"
	if theirs != nil {
		head += "\tPrometheus' TSDB"
	}
	_, _ = fmt.Fprintln(t, head) // Flush returns the error
	for _, f := range []struct {
		name, format string
		value        func(*ingested) float64
	}{
		{"samples a second", "%.0f", func(r *ingested) float64 { return r.SamplesPerSecond }},
		{"CPU seconds a million", "%.4f", func(r *ingested) float64 { return r.CPUSecondsPerMillion }},
		{"peak memory, MB", "%.1f", func(r *ingested) float64 { return r.PeakRSSBytes / 1e6 }},
		{"acknowledged after, p50, ms", "%.2f", func(r *ingested) float64 { return r.AckP50Seconds * 1e3 }},
		{"acknowledged after, p99, ms", "%.2f", func(r *ingested) float64 { return r.AckP99Seconds * 1e3 }},
		{"recovery after kill -9, s", "%.3f", func(r *ingested) float64 { return r.RecoverySeconds }},
	} {
		line := f.name
		a := medianOf(ours, f.value)
		line += "\t" + fmt.Sprintf(f.format, a)
		if theirs != nil {
			b := medianOf(theirs, f.value)
			line += "\t" + fmt.Sprintf(f.format, b) + "\t" + fmt.Sprintf("%.3g", a/b)
		}
		_, _ = fmt.Fprintln(t, line) // as above
	}
	return t.Flush()
}

func medianOf(rs []ingested, value func(*ingested) float64) float64 {
	var v []float64
	for i := range rs {
		v = append(v, value(&rs[i]))
	}
	slices.Sort(v)
	return v[len(v)/2]
}
