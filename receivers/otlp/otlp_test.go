package otlp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// attrs returns attributes: name, value, name, value.
func attrs(pairs ...string) (as []*common.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		as = append(as, &common.KeyValue{Key: pairs[i], Value: text(pairs[i+1])})
	}
	return as
}

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

// request returns a request with metrics of one resource.
func request(of []*common.KeyValue, ms ...*metrics.Metric) *metrics.MetricsData {
	return &metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:     &resource.Resource{Attributes: of},
		ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: ms}},
	}}}
}

// nanos returns a time n seconds after Epoch.
func nanos(n int) uint64 { return uint64(receivertest.Epoch+n) * 1e9 }

func gaugeOf(name, unit string, n int, v float64, as ...string) *metrics.Metric {
	return &metrics.Metric{Name: name, Unit: unit, Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: []*metrics.NumberDataPoint{
		{TimeUnixNano: nanos(n), Attributes: attrs(as...), Value: &metrics.NumberDataPoint_AsDouble{AsDouble: v}},
	}}}}
}

// sumOf returns a sum with an integer for each of some times, all since start.
func sumOf(name string, t metrics.AggregationTemporality, monotonic bool, start int, points ...int) *metrics.Metric {
	s := &metrics.Sum{AggregationTemporality: t, IsMonotonic: monotonic}
	for i := 0; i < len(points); i += 2 {
		s.DataPoints = append(s.DataPoints, &metrics.NumberDataPoint{
			StartTimeUnixNano: nanos(start), TimeUnixNano: nanos(points[i]),
			Value: &metrics.NumberDataPoint_AsInt{AsInt: int64(points[i+1])},
		})
	}
	return &metrics.Metric{Name: name, Data: &metrics.Metric_Sum{Sum: s}}
}

func marshal(t testing.TB, m *metrics.MetricsData) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// post returns a request with a body of a content type.
func post(t testing.TB, url, contentType string, body []byte) *http.Request {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, url+"/v1/metrics", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", contentType)
	return q
}

const (
	protobuf = "application/x-protobuf"
	jsonType = "application/json; charset=utf-8"
)

func suite(t testing.TB) receivertest.Case {
	message := func(n int) []byte {
		return marshal(t, request(attrs("service.name", "shop"), gaugeOf("load", "", n, float64(n))))
	}
	bad := func(m *metrics.Metric) []byte { return marshal(t, request(nil, m)) }
	return receivertest.Case{
		Protocol: otlp.Protocol,
		Message:  message,
		Garbage: [][]byte{
			{},
			[]byte("x"),
			{0x0a},
			{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f},
			bytes.Repeat([]byte{0x0a, 0x02}, 100), message(5)[:20],
			bad(&metrics.Metric{Name: "x"}), bad(gaugeOf("", "", 1, 1)), bad(gaugeOf("x", "", -receivertest.Epoch, 1)),
			bad(sumOf("x", 0, true, 1, 2, 3)), bad(gaugeOf(strings.Repeat("x", 1000), "", 1, 1)),
			bad(gaugeOf("x", "", 1, 1, "a", strings.Repeat("x", 5000))),
		},
		Request: func(t testing.TB, url string, message []byte) *http.Request { return post(t, url, protobuf, message) },
	}
}

// TestSuite: it does what every receiver must do.
func TestSuite(t *testing.T) { receivertest.Run(t, suite(t)) }

// TestSuiteInJSON: requests in JSON, packed, are handled as well.
func TestSuiteInJSON(t *testing.T) {
	c := suite(t)
	c.Message = func(n int) []byte {
		return fmt.Appendf(nil, `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"news":[1],
			"scopeMetrics":[{"metrics":[{"name":"load","gauge":{"dataPoints":[{"timeUnixNano":"%d","asInt":"%d",
			"exemplars":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174"}]}]}}]}]}]}`, nanos(n), n)
	}
	c.Garbage = [][]byte{
		{},
		[]byte("x"), []byte("{"), []byte("[]"), []byte(`{"resourceMetrics":1}`), bytes.Repeat([]byte("["), 100_000),
		[]byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"x","gauge":{"dataPoints":[{"asInt":"z"}]}}]}]}]}`),
	}
	c.Request = func(t testing.TB, url string, message []byte) *http.Request {
		q := post(t, url, jsonType, receivertest.Gzip(t, message))
		q.Header.Set("Content-Encoding", "gzip")
		return q
	}
	receivertest.Run(t, c)
}

// samples returns what has been stored, a line for each sample, sorted: labels, time, value.
func samples(rec *receivertest.Recorder) (lines []string) {
	labels := make(map[string]string)
	for _, s := range rec.Series() {
		var b strings.Builder
		b.WriteString(s.Definition.Sources[0].Kind.String() + " ")
		for _, l := range s.Labels {
			fmt.Fprintf(&b, "%s=%s,", l.Name, l.Value)
		}
		labels[s.Path] = b.String()
	}
	for _, s := range rec.Samples() {
		v := "unknown"
		if s.Values[0] != rra.Unknown {
			v = fmt.Sprint(rra.NumericValue(rra.Gauge, s.Values[0], nil))
		}
		lines = append(lines, fmt.Sprintf("%s %v %s", labels[s.Path], float64(s.At-rra.Seconds(receivertest.Epoch))/1e6, v))
	}
	sort.Strings(lines)
	return lines
}

// TestKinds: each kind of metric becomes the series that Prometheus would make of it, and counters
// that begin again become counters that rise.
func TestKinds(t *testing.T) {
	of := attrs("service.name", "shop", "service.namespace", "eu", "service.instance.id", "i1")
	float := func(f float64) *float64 { return &f }
	for _, tt := range []struct {
		name   string
		metric *metrics.Metric
		want   []string
	}{
		{"gauge", gaugeOf("process.cpu.utilization", "1", 5, 0.5, "cpu.mode", "user", "1x", "y"), []string{
			"GAUGE __name__=process_cpu_utilization_ratio,cpu_mode=user,instance=i1,job=eu/shop,key_1x=y, 5 0.5",
		}},
		{"counter", sumOf("http.requests", cumulative, true, 0, 10, 100, 20, 130, 30, 4), []string{
			"DDERIVE __name__=http_requests_total,instance=i1,job=eu/shop, 0 0",
			"DDERIVE __name__=http_requests_total,instance=i1,job=eu/shop, 10 100",
			"DDERIVE __name__=http_requests_total,instance=i1,job=eu/shop, 20 130",
			"DDERIVE __name__=http_requests_total,instance=i1,job=eu/shop, 20.000001 0",
			"DDERIVE __name__=http_requests_total,instance=i1,job=eu/shop, 30 4",
		}},
		{"deltas", sumOf("bytes", differences, true, 0, 10, 100, 20, 30, 30, 4), []string{
			"ABSOLUTE __name__=bytes_total,instance=i1,job=eu/shop, 0 0",
			"ABSOLUTE __name__=bytes_total,instance=i1,job=eu/shop, 10 100",
			"ABSOLUTE __name__=bytes_total,instance=i1,job=eu/shop, 20 30",
			"ABSOLUTE __name__=bytes_total,instance=i1,job=eu/shop, 30 4",
		}},
		{"balance", sumOf("queue", cumulative, false, 0, 10, 7, 20, 5), []string{
			"GAUGE __name__=queue,instance=i1,job=eu/shop, 10 7", "GAUGE __name__=queue,instance=i1,job=eu/shop, 20 5",
		}},
		{"balance of deltas", sumOf("queue2", differences, false, 0, 10, 7, 20, -2), []string{
			"ABSOLUTE __name__=queue2,instance=i1,job=eu/shop, 0 0", "ABSOLUTE __name__=queue2,instance=i1,job=eu/shop, 10 7",
			"ABSOLUTE __name__=queue2,instance=i1,job=eu/shop, 20 -2",
		}},
		{"histogram", &metrics.Metric{Name: "latency", Unit: "ms", Data: &metrics.Metric_Histogram{Histogram: &metrics.Histogram{
			AggregationTemporality: cumulative, DataPoints: []*metrics.HistogramDataPoint{{
				TimeUnixNano: nanos(10), Count: 6, Sum: float(99.5), BucketCounts: []uint64{1, 2, 3}, ExplicitBounds: []float64{0.5, 10},
			}},
		}}}, []string{
			"DDERIVE __name__=latency_milliseconds_bucket,instance=i1,job=eu/shop,le=+Inf, 10 6",
			"DDERIVE __name__=latency_milliseconds_bucket,instance=i1,job=eu/shop,le=0.5, 10 1",
			"DDERIVE __name__=latency_milliseconds_bucket,instance=i1,job=eu/shop,le=10, 10 3",
			"DDERIVE __name__=latency_milliseconds_count,instance=i1,job=eu/shop, 10 6",
			"DDERIVE __name__=latency_milliseconds_sum,instance=i1,job=eu/shop, 10 99.5",
		}},
		{"summary", &metrics.Metric{Name: "gc", Unit: "s", Data: &metrics.Metric_Summary{Summary: &metrics.Summary{
			DataPoints: []*metrics.SummaryDataPoint{{
				TimeUnixNano: nanos(10), Count: 6, Sum: 3, QuantileValues: []*metrics.SummaryDataPoint_ValueAtQuantile{{Quantile: 0.9, Value: 1.5}},
			}},
		}}}, []string{
			"DDERIVE __name__=gc_seconds_count,instance=i1,job=eu/shop, 10 6",
			"DDERIVE __name__=gc_seconds_sum,instance=i1,job=eu/shop, 10 3",
			"GAUGE __name__=gc_seconds,instance=i1,job=eu/shop,quantile=0.9, 10 1.5",
		}},
		{"no value", &metrics.Metric{Name: "gone", Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: []*metrics.NumberDataPoint{
			{TimeUnixNano: nanos(10), Flags: uint32(metrics.DataPointFlags_DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK)},
		}}}}, []string{"GAUGE __name__=gone,instance=i1,job=eu/shop, 10 unknown"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, form := range []string{protobuf, jsonType} {
				rec := new(receivertest.Recorder)
				r := receivertest.Start(t, suite(t), rec, nil)
				body := marshal(t, request(of, tt.metric))
				if form == jsonType {
					var err error
					if body, err = protojson.Marshal(request(of, tt.metric)); err != nil {
						t.Fatal(err)
					}
				}
				a := r.Do(post(t, r.URL(), form, body))
				if want := map[string]string{protobuf: "", jsonType: "{}"}[form]; a.Status != http.StatusOK || a.Text != want {
					t.Errorf("%s: %d %q", form, a.Status, a.Text)
				}
				if diff := cmp.Diff(tt.want, samples(rec)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", form, diff)
				}
			}
		})
	}
}

// TestGoesOn: deltas go on without a gap when the receiver starts over, because the time of the
// last one comes from the store.
func TestGoesOn(t *testing.T) {
	rec := new(receivertest.Recorder)
	var last []string
	for _, n := range []int{10, 20, 30} {
		r := receivertest.Start(t, suite(t), rec, nil)
		r.Send(marshal(t, request(nil, sumOf("n", differences, true, n-10, n, 5))))
		r.Stop()
		last = samples(rec)
	}
	want := []string{"ABSOLUTE __name__=n_total, 0 0", "ABSOLUTE __name__=n_total, 10 5", "ABSOLUTE __name__=n_total, 20 5", "ABSOLUTE __name__=n_total, 30 5"}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTargetInfo: the attributes of a resource that are no labels of its series are the labels of
// target_info. That it comes again with the same time is no error.
func TestTargetInfo(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, suite(t), rec, nil)
	of := attrs("service.name", "shop", "host.name", "web1", "os.type", "linux")
	for _, name := range []string{"a", "b"} {
		a := r.Do(post(t, r.URL(), protobuf, marshal(t, request(of, gaugeOf(name, "", 10, 1)))))
		if a.Status != http.StatusOK || a.Text != "" {
			t.Errorf("%d %q", a.Status, a.Text)
		}
	}
	want := []string{
		"GAUGE __name__=a,instance=web1,job=shop, 10 1", "GAUGE __name__=b,instance=web1,job=shop, 10 1",
		"GAUGE __name__=target_info,host_name=web1,instance=web1,job=shop,os_type=linux, 10 1",
	}
	if diff := cmp.Diff(want, samples(rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProcesses: processes of one machine have series of their own, as the hostmetrics receiver's
// process scraper sends them; a service that sends its process has one however often it starts.
func TestProcesses(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, suite(t), rec, nil)
	for i, of := range [][]*common.KeyValue{
		attrs("host.name", "web1", "process.pid", "7", "process.executable.name", "nginx", "process.command_line", "nginx -g"),
		attrs("host.name", "web1", "process.pid", "9", "process.executable.name", "nginx"),
		attrs("service.name", "shop", "host.name", "web1", "process.pid", "11"),
	} {
		r.Do(post(t, r.URL(), protobuf, marshal(t, request(of, gaugeOf("process.threads", "{threads}", 10, float64(i))))))
	}
	var got []string
	for _, line := range samples(rec) {
		if !strings.Contains(line, "target_info") {
			got = append(got, line)
		}
	}
	want := []string{
		"GAUGE __name__=process_threads,instance=web1,job=shop, 10 2",
		"GAUGE __name__=process_threads,instance=web1,process_executable_name=nginx,process_pid=7, 10 0",
		"GAUGE __name__=process_threads,instance=web1,process_executable_name=nginx,process_pid=9, 10 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPartial: what is left out is named, in the form of the request, and the rest is stored.
func TestPartial(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, suite(t), rec, nil)
	exponential := &metrics.Metric{Name: "e", Data: &metrics.Metric_ExponentialHistogram{ExponentialHistogram: &metrics.ExponentialHistogram{
		AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		DataPoints:             []*metrics.ExponentialHistogramDataPoint{{TimeUnixNano: nanos(10), Count: 3}},
	}}}
	for _, tt := range []struct {
		metrics  []*metrics.Metric
		status   int
		rejected string
		told     string
		samples  int
	}{
		{[]*metrics.Metric{exponential}, 200, "", "exponential histograms", 1},
		{[]*metrics.Metric{gaugeOf("a", "", 10, 1), gaugeOf("", "", 10, 1)}, 200, "1", "no name", 1},
		{[]*metrics.Metric{gaugeOf("a", "", 10, 1), gaugeOf("b", "", 10, 1)}, 200, "", "", 2},
		{[]*metrics.Metric{gaugeOf("b", "", 99_999_999, 1)}, 400, "", "too far ahead", 0},
		{[]*metrics.Metric{sumOf("c", 0, true, 0, 10, 1)}, 400, "", "neither cumulative nor delta", 0},
	} {
		body, err := protojson.Marshal(request(nil, tt.metrics...))
		if err != nil {
			t.Fatal(err)
		}
		before := len(rec.Samples())
		a := r.Do(post(t, r.URL(), jsonType, body))
		var answer struct {
			PartialSuccess struct{ RejectedDataPoints, ErrorMessage string }
			Message        string
		}
		if err := json.Unmarshal([]byte(a.Text), &answer); err != nil {
			t.Errorf("%s: %v", a.Text, err)
		}
		told := answer.PartialSuccess.ErrorMessage + answer.Message
		if a.Status != tt.status || answer.PartialSuccess.RejectedDataPoints != tt.rejected || !strings.Contains(told, tt.told) || tt.told == "" && told != "" {
			t.Errorf("%d %s, want %d, %s rejected, %s", a.Status, a.Text, tt.status, tt.rejected, tt.told)
		}
		if n := len(rec.Samples()) - before; n != tt.samples {
			t.Errorf("%s: %d samples, want %d", tt.told, n, tt.samples)
		}
	}
}

// TestHostileBodies: bodies that are wrong, or take much when they are unpacked, are refused with
// 4xx.
func TestHostileBodies(t *testing.T) {
	r := receivertest.Start(t, suite(t), new(receivertest.Recorder), nil)
	good := suite(t).Message(1)
	bomb := receivertest.Gzip(t, make([]byte, 64<<20))
	lying := append(bytes.Clone(bomb[:len(bomb)-4]), 100, 0, 0, 0)
	deep := text("x")
	for range 100 {
		deep = &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{deep}}}}
	}
	depth := gaugeOf("x", "", 1, 1)
	depth.GetGauge().DataPoints[0].Attributes = []*common.KeyValue{{Key: "a", Value: deep}}
	for name, tt := range map[string]struct {
		contentType, encoding string
		body                  []byte
		status                int
	}{
		"bomb":           {protobuf, "gzip", bomb, 413},
		"bomb that lies": {protobuf, "gzip", lying, 400},
		"bomb of JSON":   {jsonType, "gzip", bomb, 413},
		"truncated":      {protobuf, "gzip", receivertest.Gzip(t, good)[:30], 413},
		"no gzip":        {protobuf, "gzip", []byte("no gzip at all\x00\x00\x00\x00"), 400},
		"short":          {protobuf, "gzip", nil, 400},
		"other encoding": {protobuf, "zstd", good, 415},
		"other type":     {"text/plain", "", good, 415},
		"no type":        {"", "", good, 415},
		"deep value":     {protobuf, "", marshal(t, request(nil, depth)), 400},
		"deep JSON":      {jsonType, "", []byte(`{"resourceMetrics":` + strings.Repeat("[", 1_000_000)), 400},
		"empty points":   {jsonType, "", []byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"x","gauge":{"dataPoints":[` + strings.Repeat("{},", 300_000) + `{}]}}]}]}]}`), 400},
		"attributes":     {protobuf, "", marshal(t, request(nil, gaugeOf("x", "", 1, 1, make([]string, 400)...))), 400},
	} {
		q := post(t, r.URL(), tt.contentType, tt.body)
		q.Header.Set("Content-Encoding", tt.encoding)
		if a := r.Do(q); a.Status != tt.status || a.Text == "" || len(a.Text) > 10_000 {
			t.Errorf("%s: %d %.200q, want %d", name, a.Status, a.Text, tt.status)
		}
	}
	if a := r.Ask(good); a.Status != http.StatusOK {
		t.Errorf("behind them: %d %s", a.Status, a.Text)
	}
}
