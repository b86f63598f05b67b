package metrics_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
)

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := metrics.NewWriter(&out)
	w.Gauge("a", "A \\ and\na new line.", 1234567890123)
	w.Family("b_total", "counter", "B.")
	w.Sample(0.5, "x", "q\"\\\n", "y", "2")
	w.Sample(math.Inf(1))
	w.Sample(math.Inf(-1))
	w.Sample(math.NaN())
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `# HELP a A \\ and\na new line.
# TYPE a gauge
a 1234567890123
# HELP b_total B.
# TYPE b_total counter
b_total{x="q\"\\\n",y="2"} 0.5
b_total +Inf
b_total -Inf
b_total NaN
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestWriterHistogram(t *testing.T) {
	var out bytes.Buffer
	w := metrics.NewWriter(&out)
	w.Family("h_seconds", "histogram", "H.")
	w.Histogram(func(f func(float64, uint64)) {
		f(0.001, 1)
		f(2, 3)
	}, 4, 7.5, "x", "y")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `# HELP h_seconds H.
# TYPE h_seconds histogram
h_seconds_bucket{x="y",le="0.001"} 1
h_seconds_bucket{x="y",le="2"} 3
h_seconds_bucket{x="y",le="+Inf"} 4
h_seconds_sum{x="y"} 7.5
h_seconds_count{x="y"} 4
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestWriterAllocatesNothingALine: a page of /metrics allocated twice for each of its lines.
func TestWriterAllocatesNothingALine(t *testing.T) {
	w := metrics.NewWriter(io.Discard)
	if n := testing.AllocsPerRun(100, func() { w.Sample(0.25, "path", "/metrics", "code", "200") }); n > 0 {
		t.Errorf("a sample: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { writeHistogram(w) }); n > 2 {
		t.Errorf("a histogram of 18 lines: %v allocations, want 2 at most", n)
	}
}

func writeHistogram(w *metrics.Writer) {
	w.Histogram(func(f func(float64, uint64)) {
		for i := range 16 {
			f(float64(i)/4, uint64(i))
		}
	}, 40, 7.5, "path", "/metrics")
}

func BenchmarkHistogram(b *testing.B) {
	w := metrics.NewWriter(io.Discard)
	w.Family("h_seconds", "histogram", "H.")
	for b.Loop() {
		writeHistogram(w)
	}
}

func TestWriterKeepsError(t *testing.T) {
	w := metrics.NewWriter(broken{})
	w.Gauge("a", "A.", 1)
	if err := w.Flush(); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
