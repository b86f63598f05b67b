package metrics_test

import (
	"bytes"
	"errors"
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
