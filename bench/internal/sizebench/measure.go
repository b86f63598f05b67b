package sizebench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/enginebench"
)

// A Size is what a store of so many series costs.
type Size struct {
	Series  int `json:"series"`
	Samples int `json:"samples"`

	CreateSeconds    float64 `json:"create_seconds"` // Open, create all series, Close
	CreateCPUSeconds float64 `json:"create_cpu_seconds"`
	CreatePeakBytes  int64   `json:"create_peak_bytes"` // of memory

	// until all is acknowledged and in the database
	IngestSeconds        float64 `json:"ingest_seconds"`
	IngestCPUSeconds     float64 `json:"ingest_cpu_seconds"`
	IngestPeakBytes      int64   `json:"ingest_peak_bytes"`
	AckP99Seconds        float64 `json:"ack_p99_seconds"`
	CheckpointMaxSeconds float64 `json:"checkpoint_max_seconds"`
	DiskBytes            int64   `json:"disk_bytes"`

	OpenSeconds      float64 `json:"open_seconds"` // after a clean end
	OpenCPUSeconds   float64 `json:"open_cpu_seconds"`
	ListSeconds      float64 `json:"list_seconds"` // every series once
	ListCPUSeconds   float64 `json:"list_cpu_seconds"`
	SelectP50Seconds float64 `json:"select_p50_seconds"` // the series of one host
	// one series of every host: a hundredth of all
	SelectInstanceSeconds float64 `json:"select_instance_seconds"`
}

// Measure measures a store of c.Series series in a process of its own: child returns the command
// that runs Child with an argument. The store's folder must be empty.
func Measure(ctx context.Context, c enginebench.Config, child func(ctx context.Context, arg string) *exec.Cmd) (s Size, err error) {
	arg, err := json.Marshal(c)
	if err != nil {
		return s, err
	}
	cmd := child(ctx, string(arg))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("bench: %d series: %w: %s", c.Series, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return s, json.Unmarshal(out, &s)
}

// Child does what arg, made by Measure, orders, and writes its answer to out.
func Child(ctx context.Context, arg string, out io.Writer) error {
	var c enginebench.Config
	if err := json.Unmarshal([]byte(arg), &c); err != nil {
		return fmt.Errorf("bench: order of a child: %w", err)
	}
	r, err := enginebench.Ingest(ctx, c)
	if err != nil {
		return err
	}
	s := Size{
		Series: r.Series, Samples: int(r.Samples),
		CreateSeconds: r.CreateSeconds, CreateCPUSeconds: r.CreateCPUSeconds, CreatePeakBytes: r.CreatePeakRSSBytes,
		IngestSeconds:    r.AppendSeconds + r.FinalCheckpointSeconds,
		IngestCPUSeconds: r.CPUSecondsPerMillion * float64(r.Samples) / 1e6,
		IngestPeakBytes:  r.PeakRSSBytes, AckP99Seconds: r.AckP99Seconds, CheckpointMaxSeconds: r.CheckpointMaxSeconds,
		DiskBytes: int64(r.DiskBytesPerSample * float64(r.Samples)),
	}
	debug.FreeOSMemory()
	if err := s.readBack(ctx, c, s.Series); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(&s)
}

// readBack opens the store, lists it, and selects from it.
func (s *Size) readBack(ctx context.Context, c enginebench.Config, series int) (err error) {
	begin, cpu := time.Now(), cpuTime()
	store, err := core.Open(c.Dir, c.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s.OpenSeconds, s.OpenCPUSeconds = time.Since(begin).Seconds(), (cpuTime() - cpu).Seconds()

	begin, cpu = time.Now(), cpuTime()
	n := 0
	for _, err := range store.Select(ctx, core.Query{Order: core.ByPath}) {
		if err != nil {
			return err
		}
		n++
	}
	s.ListSeconds, s.ListCPUSeconds = time.Since(begin).Seconds(), (cpuTime() - cpu).Seconds()
	if n != series {
		return fmt.Errorf("bench: %d of %d series are listed", n, series)
	}
	return s.selects(ctx, store, c, series)
}

// selects selects the series of a few hosts, and one series of every host.
func (s *Size) selects(ctx context.Context, store *core.Store, c enginebench.Config, series int) error {
	host := c.Layout.HostSeries()
	hosts := series / host
	g := enginebench.NewGenerator(c.Seed, c.Layout, series)
	instance := g.Spec(0, 0).Labels[2]
	var took []time.Duration
	for i := range 101 {
		d, err := selectLabel(ctx, store, g.Spec(i*997%hosts, 0).Labels[1], host)
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	s.SelectP50Seconds = took[len(took)/2].Seconds()
	if _, err := selectLabel(ctx, store, instance, hosts); err != nil { // reads it from the disk
		return err
	}
	d, err := selectLabel(ctx, store, instance, hosts)
	s.SelectInstanceSeconds = d.Seconds()
	return err
}

// selectLabel returns how long it takes to select the series with a label, which must be want.
func selectLabel(ctx context.Context, store *core.Store, label core.Label, want int) (time.Duration, error) {
	m, err := core.NewMatcher(core.MatchEqual, label.Name, label.Value)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	refs, err := core.Refs(ctx, store, []core.Matcher{m})
	took := time.Since(begin)
	if err == nil && len(refs) != want {
		err = fmt.Errorf("%d series have it, not %d", len(refs), want)
	}
	if err != nil {
		return 0, fmt.Errorf("bench: %s=%q: %w", label.Name, label.Value, err)
	}
	return took, nil
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
