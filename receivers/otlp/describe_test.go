package otlp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestDescriptionsAndUnitsAreKept: what a metric said of itself was dropped.
func TestDescriptionsAndUnitsAreKept(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, suite(t), rec, nil)
	send := func(help string, m *metrics.Metric) {
		t.Helper()
		m.Description = help
		if a := r.Do(post(t, r.URL(), protobuf, marshal(t, request(attrs("service.name", "shop"), m)))); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Text)
		}
	}
	send("How long\nit takes.", gaugeOf("wait", "ms", 10, 1))
	send("", sumOf("requests", cumulative, true, 1, 10, 5))
	send(strings.Repeat("é", 2000)+"\x00", gaugeOf("long", "", 10, 1))
	for path, want := range map[string][]core.Label{
		"otlp/shop/-/wait_milliseconds": {{Name: "help", Value: "How long\nit takes."}, {Name: "type", Value: "gauge"}, {Name: "unit", Value: "milliseconds"}},
		"otlp/shop/-/requests_total":    {{Name: "type", Value: "counter"}},
		"otlp/shop/-/long":              {{Name: "help", Value: strings.Repeat("é", 1000)}, {Name: "type", Value: "gauge"}},
	} {
		m, err := rec.Metadata(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.Attributes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
