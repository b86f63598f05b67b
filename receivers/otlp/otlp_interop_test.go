package otlp_test

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestSDK: what the exporter of OpenTelemetry's SDK for Go sends is stored as Prometheus names and
// counts it, whether the SDK sends totals or differences.
func TestSDK(t *testing.T) {
	sender := filepath.Join(t.TempDir(), "sender")
	build := exec.Command(rrdtooltest.Peer(t, "go"), "build", "-o", sender, "./otlp")
	build.Dir = filepath.FromSlash("../../contrib/senders")
	if out, err := build.CombinedOutput(); err != nil {
		rrdtooltest.Lacks(t, "the SDK does not build: ", err, string(out))
	}
	const shop = "instance=one,job=shop,"
	want := map[string]string{
		"DDERIVE __name__=orders_total," + shop + "payment_method=card,": "9",
		"GAUGE __name__=queue_length," + shop:                            "2.5",
		"DDERIVE __name__=latency_seconds_bucket," + shop + "le=0.1,":    "3",
		"DDERIVE __name__=latency_seconds_bucket," + shop + "le=1,":      "21",
		"DDERIVE __name__=latency_seconds_bucket," + shop + "le=+Inf,":   "30",
		"DDERIVE __name__=latency_seconds_count," + shop:                 "30",
		"DDERIVE __name__=latency_seconds_sum," + shop:                   "20.25",
		"GAUGE __name__=target_info," + shop + "os_type=linux,":          "1",
	}
	for _, temporality := range []string{"cumulative", "delta"} {
		rec := new(receivertest.Recorder)
		r := receivertest.Start(t, suite(t), rec, func(c *receivers.Config) { c.Now = time.Now })
		if out, err := exec.Command(sender, r.URL()+"/v1/metrics", temporality).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s: %v\n%s", temporality, err, out)
		}
		labels := make(map[string]string)
		for _, s := range rec.Series() {
			var text strings.Builder
			text.WriteString(s.Definition.Sources[0].Kind.String() + " ")
			for _, l := range s.Labels {
				text.WriteString(l.Name + "=" + l.Value + ",")
			}
			labels[s.Path] = text.String()
		}
		got := make(map[string]string)
		sums := make(map[string]float64)
		for _, s := range rec.Samples() {
			name, adds := strings.CutPrefix(labels[s.Path], "ABSOLUTE ")
			v := math.Float64frombits(s.Values[0].Bits)
			if adds { // a delta
				sums[name] += v
				name, v = "DDERIVE "+name, sums[name]
			}
			got[name] = fmt.Sprintf("%.6g", v)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", temporality, diff)
		}
		r.Stop()
		for reason, n := range r.Stats().Dropped {
			if n > 0 {
				t.Errorf("%s: %d dropped: %v", temporality, n, strings.ToLower(receivers.Reason(reason).String()))
			}
		}
	}
}
