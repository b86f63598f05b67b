package enginebench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
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

// MeasureSize measures a store of c.Series series in a process of its own, as Ingest does: c.Exec
// starts it. The store's folder must be empty.
func MeasureSize(ctx context.Context, c Config) (s Size, err error) {
	if err := c.validate(); err != nil {
		return s, err
	}
	if c.Exec == nil {
		return s, errors.New("bench: a size is measured in a process of its own, and Exec is nil")
	}
	if err := child(ctx, c, order{Size: true, Config: c}, &s); err != nil {
		return s, fmt.Errorf("bench: %d series: %w", c.Series, err)
	}
	return s, nil
}

// size is MeasureSize in the process that was started for it.
func size(ctx context.Context, c Config, out io.Writer) error {
	var r Result
	s := Size{}
	cpu := cpuTime()
	refs, err := create(ctx, c, &r)
	if err != nil {
		return err
	}
	s.CreateSeconds, s.CreateCPUSeconds, s.CreatePeakBytes = r.CreateSeconds, (cpuTime() - cpu).Seconds(), r.CreatePeakRSSBytes
	_ = resetPeak() // Linux only; the table says what the peak is of
	if err := s.ingest(ctx, c, refs, &r); err != nil {
		return err
	}
	debug.FreeOSMemory()
	if err := s.readBack(ctx, c, len(refs)); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(&s)
}

// ingest appends the readings to the store and closes it.
func (s *Size) ingest(ctx context.Context, c Config, refs []core.Ref, r *Result) error {
	store, err := core.Open(c.Dir, c.Options)
	if err != nil {
		return err
	}
	l := newLoad(store, c)
	l.refs = refs
	if err := errors.Join(l.measure(ctx, c, r), store.Close()); err != nil {
		return err
	}
	s.Series, s.Samples = r.Series, int(r.Samples)
	s.IngestSeconds = r.AppendSeconds + r.FinalCheckpointSeconds
	s.IngestCPUSeconds = r.CPUSecondsPerMillion * float64(r.Samples) / 1e6
	s.IngestPeakBytes, s.AckP99Seconds, s.CheckpointMaxSeconds = peakRSS(), r.AckP99Seconds, r.CheckpointMaxSeconds
	s.DiskBytes = int64(r.DiskBytesPerSample * float64(r.Samples))
	return nil
}

// readBack opens the store, lists it, and selects from it.
func (s *Size) readBack(ctx context.Context, c Config, series int) (err error) {
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
func (s *Size) selects(ctx context.Context, store *core.Store, c Config, series int) error {
	host := c.Layout.HostSeries()
	hosts := series / host
	g := NewGenerator(c.Seed, c.Layout, series)
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
	s.SelectP50Seconds = quantile(took, 0.5)
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
