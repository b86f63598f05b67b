package enginebench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// childOrder is the variable that makes the test binary a child of Ingest.
const childOrder = "RONDO_BENCH_ORDER"

func TestMain(m *testing.M) {
	if order := os.Getenv(childOrder); order != "" {
		if err := Child(context.Background(), order, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func testConfig(t *testing.T) Config {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Dir: filepath.Join(t.TempDir(), "db"), Series: 550, Layout: standard, Readings: 400, Appenders: 4, Depth: 3, Seed: 5, Verify: 30,
		Exec: func(ctx context.Context, arg string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), childOrder+"="+arg)
			return cmd
		},
	}
	c.Options.CheckpointBytes = 1 << 18
	return c
}

func TestIngestMeasuresAndVerifies(t *testing.T) {
	c := testConfig(t)
	r, err := Ingest(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Series != 600 || r.Samples != 600*400 {
		t.Errorf("%d samples of %d series, want %d of 600", r.Samples, r.Series, 600*400)
	}
	if want := int64(30 * (360 + 2*1440 + 1008 + 8760)); r.Verified != want || r.Opened.Verified != want {
		t.Errorf("verified %d and %d rows, want %d", r.Verified, r.Opened.Verified, want)
	}
	if r.RecoveredLogBytes < 1<<18 || r.Opened.Replayed == 0 {
		t.Errorf("the log that was recovered had %d bytes, %d records", r.RecoveredLogBytes, r.Opened.Replayed)
	}
	if r.FetchPeakRSSBytes <= 0 || r.DiskP50Seconds <= 0 || r.DiskP99Seconds < r.DiskP50Seconds || r.AckP999Seconds < r.AckP99Seconds {
		t.Errorf("peak with fetches %d, disk %v and %v, the slowest acknowledgements %v", r.FetchPeakRSSBytes, r.DiskP50Seconds, r.DiskP99Seconds, r.AckP999Seconds)
	}
	if left, err := filepath.Glob(filepath.Join(c.Dir, "disk-*")); err != nil || len(left) > 0 {
		t.Errorf("%q stayed in the folder: %v", left, err)
	}
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var figures map[string]float64
	if err := json.Unmarshal(out.Bytes(), &figures); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`ack_p50_seconds ack_p99_seconds checkpoint_max_seconds cpu_seconds_per_million disk_bytes_per_sample
		fetch_one_p50_seconds fetch_one_p99_seconds fetch_thousand_p50_seconds peak_rss_bytes recovery_seconds samples_per_second written_bytes_per_sample`)
	if got := slices.Sorted(maps.Keys(figures)); !slices.Equal(got, want) {
		t.Errorf("JSON has\n%q, want\n%q", got, want)
	}
	for k, v := range figures {
		if v <= 0 && k != "written_bytes_per_sample" { // tmpfs counts none
			t.Errorf("%s is %v", k, v)
		}
	}
}

// TestLayouts ingests and compares with other archives and more data sources.
func TestLayouts(t *testing.T) {
	for _, layout := range []Layout{{15, 1}, {15, 2}, {5, 4}, {5, 5}} {
		t.Run(fmt.Sprint(layout), func(t *testing.T) {
			t.Parallel()
			c := testConfig(t)
			c.Layout, c.Series, c.Readings, c.Verify, c.Exec = layout, layout.HostSeries(), 200, 10, nil
			r, err := Ingest(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			values := int64(360 + 2*1440 + 1008 + 8760)
			if layout.Archives == 15 {
				values = 3 * (1200 + 1235 + 1210 + 1202 + 1201)
			}
			values *= int64(10 * layout.Sources)
			if r.Samples != HostReadings*200 || r.Series != layout.HostSeries() || r.Verified != values {
				t.Errorf("%d samples of %d series, %d values compared; want %d", r.Samples, r.Series, r.Verified, values)
			}
		})
	}
	for _, wrong := range []Layout{{}, {5, 3}, {6, 1}, {5, -1}} {
		c := testConfig(t)
		c.Layout = wrong
		if _, err := Ingest(t.Context(), c); err == nil {
			t.Errorf("%v is allowed", wrong)
		}
	}
}

// The verification is worth nothing if it cannot fail.
func TestVerifyFindsAWrongSample(t *testing.T) {
	c := testConfig(t)
	store, err := core.Open(c.Dir, c.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }() // the store was looked at already
	l := newLoad(store, c)
	if err := l.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	for h := range l.gen.Hosts() {
		l.gen.hosts[h].rnd++ // from here on another load
	}
	if _, err := l.run(t.Context(), c.Readings, nil); err != nil {
		t.Fatal(err)
	}
	if rows, err := l.verify(t.Context(), 5, func(int) int { return c.Readings }); err == nil {
		t.Errorf("%d rows of another load were found equal", rows)
	}
	if _, err := l.verify(t.Context(), 5, func(int) int { return c.Readings + 1 }); err == nil || !strings.Contains(err.Error(), "last update") {
		t.Errorf("a missing reading: %v", err)
	}
}

func TestReplayOfOneHostIsTheLoad(t *testing.T) {
	g := NewGenerator(3, standard, 300)
	var v, w [HostReadings]rra.Value
	alone := newHostGenerator(3, standard, 1)
	for range 20 {
		g.Next(1, v[:])
		alone.Next(0, w[:])
	}
	rows, err := replay(3, standard, 1, 0, 20)
	if err != nil {
		t.Fatal(err)
	}
	if v != w || len(rows) != 5 || len(rows[0]) < 15 {
		t.Errorf("replay gives %d archives", len(rows))
	}
}

func TestAppendersStayTogether(t *testing.T) {
	p := newPace(2, 10)
	for next := 11; next <= 10+maxAhead; next++ {
		if p.reached(0, next) {
			t.Fatalf("reading %d is too far ahead of 10", next)
		}
	}
	if !p.reached(0, 11+maxAhead) {
		t.Fatalf("reading %d is not too far ahead of 10", 11+maxAhead)
	}
	through := make(chan struct{})
	go func() {
		p.wait(11 + maxAhead)
		close(through)
	}()
	p.reached(1, 11)
	<-through
	p.leave(1)
	p.wait(11 + maxAhead)
}

func BenchmarkIngest(b *testing.B) {
	for _, series := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("series=%d", series), func(b *testing.B) {
			c := Config{Dir: b.TempDir(), Series: series, Layout: standard, Appenders: 8, Depth: 8, Seed: 1}
			store, err := core.Open(c.Dir, c.Options)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = store.Close() }() // thrown away
			l := newLoad(store, c)
			if err := l.create(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := l.run(b.Context(), b.N, nil); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(series)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
