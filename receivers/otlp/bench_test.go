package otlp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// workload returns a request with some gauges.
func workload(tb testing.TB, points int) []byte {
	tb.Helper()
	attribute := func(name, value string) *common.KeyValue {
		return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
	}
	g := new(metrics.Gauge)
	for i := range points {
		g.DataPoints = append(g.DataPoints, &metrics.NumberDataPoint{
			TimeUnixNano: receivertest.Epoch * 1e9, Value: &metrics.NumberDataPoint_AsDouble{AsDouble: float64(i)},
			Attributes: []*common.KeyValue{attribute("host", fmt.Sprint("host", i)), attribute("region", "eu-west")},
		})
	}
	b, err := proto.Marshal(&metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:     &resource.Resource{Attributes: []*common.KeyValue{attribute("service.name", "shop")}},
		ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: []*metrics.Metric{{Name: "load", Data: &metrics.Metric_Gauge{Gauge: g}}}}},
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// BenchmarkReceive is all of a receiver but the network and the store.
func BenchmarkReceive(b *testing.B) {
	const points = 5000
	body := workload(b, points)
	r, err := newServer(receivers.Config{MaxFuture: -1}, new(receivertest.Nowhere))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		q := httptest.NewRequest(http.MethodPost, "/v1/metrics", nil)
		q.Header.Set("Content-Type", "application/x-protobuf")
		q.Body = receivers.NewWholeBody(body)
		w := httptest.NewRecorder()
		if r.(*server).ServeHTTP(w, q); w.Code != http.StatusOK {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*points), "ns/point")
}

// FuzzRequest: no message does harm, whatever is in it.
func FuzzRequest(f *testing.F) {
	f.Add(workload(f, 2))
	f.Add([]byte{0x0a, 0x00})
	r, err := newServer(receivers.Config{MaxFuture: -1}, new(receivertest.Nowhere))
	if err != nil {
		f.Fatal(err)
	}
	s := r.(*server)
	f.Fuzz(func(t *testing.T, message []byte) {
		e := newExport(s.intake, s.Requests)
		e.begin(t.Context(), "x", s.cfg.Now())
		_ = e.dec.request(message) // what is wrong is tested elsewhere
		e.flush()
		if e.failed != nil {
			t.Error(e.failed)
		}
	})
}
