package sink_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/receivers/sink"
)

// What BenchmarkFirst sends: 1,000 hosts of 100 series, as `rondo-bench remotewrite` has them.
const (
	firstSeries  = 100_000
	firstSize    = 500 // series of a request
	firstSenders = 16
)

// firstRule gives series the archives that `rondo-bench remotewrite` gives them.
var firstRule = sink.Rule{Step: 10, Heartbeat: 30, Archives: []string{
	"RRA:AVERAGE:0.5:10s:6h", "RRA:AVERAGE:0.5:1m:2d", "RRA:AVERAGE:0.5:5m:14d", "RRA:MIN:0.5:5m:14d", "RRA:MAX:0.5:5m:14d",
}}

// BenchmarkFirst is the first round of receivers over HTTP, without HTTP: the requests of several
// senders make all series in a new store, and store a sample of each. An operation is a round, with
// opening and closing the store.
func BenchmarkFirst(b *testing.B) {
	now := time.Now()
	for _, c := range []struct {
		protocol receivers.Protocol
		path     string
		body     func(from int, now time.Time) []byte
	}{
		{remotewrite.Protocol, "/api/v1/write", firstWrite},
		{otlp.Protocol, "/v1/metrics", firstExport},
	} {
		b.Run(c.protocol.Name, func(b *testing.B) {
			var bodies [][]byte
			for from := 0; from < firstSeries; from += firstSize {
				bodies = append(bodies, c.body(from, now))
			}
			b.ReportAllocs()
			for b.Loop() {
				firstRound(b, c.protocol, c.path, bodies)
			}
			b.ReportMetric(float64(firstSeries*b.N)/b.Elapsed().Seconds(), "series/s")
		})
	}
}

func firstRound(b *testing.B, p receivers.Protocol, path string, bodies [][]byte) {
	policy, err := sink.NewPolicy([]sink.Rule{firstRule})
	if err != nil {
		b.Fatal(err)
	}
	store, err := core.Open(b.TempDir(), core.Options{})
	if err != nil {
		b.Fatal(err)
	}
	r, err := p.New(receivers.Config{}, sink.New(store, sink.Options{Policy: policy, SenderBurst: -1}))
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range firstSenders {
		all.Go(func() {
			for i := n; i < len(bodies); i += firstSenders {
				w := &httptest.ResponseRecorder{Code: http.StatusServiceUnavailable}
				for w.Code == http.StatusServiceUnavailable { // on a busy machine
					q := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(bodies[i]))
					q.Header.Set("Content-Type", "application/x-protobuf")
					w = httptest.NewRecorder()
					r.(http.Handler).ServeHTTP(w, q)
				}
				if w.Code/100 != 2 {
					b.Errorf("the answer is %d %s", w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
	if n := store.Stats().Series; n != firstSeries {
		b.Fatalf("%d series, want %d", n, firstSeries)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}

func firstWrite(from int, now time.Time) []byte {
	var all prompb.WriteRequest
	for n := from; n < from+firstSize; n++ {
		all.Timeseries = append(all.Timeseries, prompb.TimeSeries{
			Labels: []prompb.Label{
				{Name: "__name__", Value: fmt.Sprintf("node_load_%d", n%100)},
				{Name: "cluster", Value: "eu-west-1"},
				{Name: "device", Value: fmt.Sprintf("device%d", n%8)},
				{Name: "instance", Value: fmt.Sprintf("host-%d.example.com:9100", n/100)},
				{Name: "job", Value: "node"},
			},
			Samples: []prompb.Sample{{Value: 1, Timestamp: now.UnixMilli()}},
		})
	}
	body, err := all.Marshal()
	if err != nil {
		panic(err) // it has room
	}
	return snappy.Encode(nil, body)
}

func firstExport(from int, now time.Time) []byte {
	attribute := func(name, value string) *common.KeyValue {
		return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
	}
	all := new(metrics.MetricsData)
	for n := from; n < from+firstSize; n++ {
		if n == from || n%100 == 0 {
			all.ResourceMetrics = append(all.ResourceMetrics, &metrics.ResourceMetrics{
				Resource: &resource.Resource{Attributes: []*common.KeyValue{
					attribute("service.name", "node"), attribute("service.instance.id", fmt.Sprintf("host-%d.example.com:9100", n/100)),
				}},
				ScopeMetrics: []*metrics.ScopeMetrics{{}},
			})
		}
		scope := all.ResourceMetrics[len(all.ResourceMetrics)-1].ScopeMetrics[0]
		scope.Metrics = append(scope.Metrics, &metrics.Metric{Name: fmt.Sprintf("node_load_%d", n%100), Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{
			DataPoints: []*metrics.NumberDataPoint{{
				TimeUnixNano: uint64(now.UnixNano()), Value: &metrics.NumberDataPoint_AsDouble{AsDouble: 1},
				Attributes: []*common.KeyValue{attribute("cluster", "eu-west-1"), attribute("device", fmt.Sprintf("device%d", n%8))},
			}},
		}}})
	}
	b, err := proto.Marshal(all)
	if err != nil {
		panic(err) // it has room
	}
	return b
}
