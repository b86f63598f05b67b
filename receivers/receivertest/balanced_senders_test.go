package receivertest_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/gmetric"
	"github.com/rondo-db/rondo/receivers/graphite"
	"github.com/rondo-db/rondo/receivers/influx"
	"github.com/rondo-db/rondo/receivers/mono"
	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/receivers/smon"
	"github.com/rondo-db/rondo/rra"
)

var senders = map[string]*sender{
	"collectd":    {protocol: collectd.Protocol, every: 10, round: collectdRound},
	"gmetric":     {protocol: gmetric.Protocol, every: 15, round: gmetricRound},
	"graphite":    {protocol: graphite.Protocol, every: 30, round: graphiteRound},
	"influx":      {protocol: influx.HTTP, every: 20, round: influxRound},
	"remotewrite": {protocol: remotewrite.Protocol, every: 30, round: remoteWriteRound},
	"otlp":        {protocol: otlp.Protocol, every: 30, round: otlpRound},
	"mono":        {protocol: mono.Protocol, every: 10, round: monoRound},
	"smon":        {protocol: smon.Protocol, every: 10, round: smonRound},
}

// counter is a counter that begins again from zero now and then.
func counter(i int) float64 { return float64(i%13)*17 + float64(i%7) }

// level is a level.
func level(i int) float64 { return 20 + 7*math.Sin(float64(i)) }

// collectdRound has the parts of one host in packets of their own.
func collectdRound(t *testing.T, i int, at int64) (all []message) {
	list := func(plugin, typ string, raw []byte, kinds ...string) {
		v := collectd.ValueList{Names: collectd.Names{Host: []byte("web1"), Plugin: []byte(plugin), Type: []byte(typ)}, Raw: raw, Time: collectd.Stamp(at) << 30, Interval: 10 << 30}
		for _, name := range kinds {
			k, err := collectd.ParseKind(name)
			if err != nil {
				t.Fatal(err)
			}
			v.Kinds = append(v.Kinds, k)
		}
		var e collectd.Encoder
		if !e.Add(&v) {
			t.Fatal("no room in a packet")
		}
		all = append(all, message{body: e.Bytes(), samples: 1})
	}
	list("load", "gauge", binary.LittleEndian.AppendUint64(nil, math.Float64bits(level(i))), "gauge")
	list("if", "if_octets", binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(i*i)), uint64(counter(i))), "derive", "derive")
	if i%5 > 0 {
		list("events", "absolute", binary.BigEndian.AppendUint64(nil, uint64(i)), "absolute")
	}
	return all
}

// gmetricRound sends the metadata of its metrics in the first rounds only.
func gmetricRound(t *testing.T, i int, _ int64) (all []message) {
	add := func(m gmetric.Message, samples int) {
		b, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, message{body: b, samples: samples})
	}
	for _, x := range []struct {
		name  string
		slope gmetric.Slope
	}{{"load", gmetric.Both}, {"requests", gmetric.Positive}} {
		if i%40 == 0 {
			add(gmetric.Message{
				Word: gmetric.WordMetadata, Host: []byte("web1"), Name: []byte(x.name), Name2: []byte(x.name), Type: []byte("double"), Slope: x.slope, TMax: 60, DMax: 0,
			}, 0)
		}
		add(gmetric.Message{Word: gmetric.WordDouble, Host: []byte("web1"), Name: []byte(x.name), Format: []byte("%f"), Number: rra.Float(float64(i) + level(i)/100)}, 1)
	}
	return all
}

func graphiteRound(_ *testing.T, i int, at int64) (all []message) {
	for _, name := range []string{"a.load", "a.mem;host=web1"} {
		all = append(all, message{body: fmt.Appendf(nil, "%s %v %d\n", name, level(i), at), samples: 1})
	}
	return all
}

func influxRound(_ *testing.T, i int, at int64) []message {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu,host=web1 idle=%v,count=%di %d\n", level(i), 3*i, at)
	if i > 3 {
		fmt.Fprintf(&b, "mem,host=web1 used=%v %d\n", level(i), at)
	}
	return []message{{path: "/write?precision=s", header: map[string]string{"Content-Type": "text/plain"}, body: []byte(b.String())}}
}

func remoteWriteRound(t *testing.T, i int, at int64) []message {
	var all prompb.WriteRequest
	add := func(name string, v float64) {
		all.Timeseries = append(all.Timeseries, prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: "__name__", Value: name}, {Name: "instance", Value: "web1:9100"}, {Name: "job", Value: "node"}},
			Samples: []prompb.Sample{{Value: v, Timestamp: at*1000 + 123}},
		})
	}
	add("requests_total", counter(i))
	add("load", level(i))
	if i > 3 && i%11 != 0 {
		add("late_total", counter(i+4))
	}
	body, err := all.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return []message{{
		path: "/api/v1/write", body: snappy.Encode(nil, body), quiet: true, again: i % 3,
		header: map[string]string{"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0"},
	}}
}

func otlpRound(t *testing.T, i int, at int64) []message {
	attribute := func(name, value string) *common.KeyValue {
		return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
	}
	nanos := func(s int64) uint64 { return uint64(s) * 1e9 }
	sum := func(name string, how metrics.AggregationTemporality, from int64, v float64) *metrics.Metric {
		return &metrics.Metric{Name: name, Data: &metrics.Metric_Sum{Sum: &metrics.Sum{
			AggregationTemporality: how, IsMonotonic: true,
			DataPoints: []*metrics.NumberDataPoint{{StartTimeUnixNano: nanos(from), TimeUnixNano: nanos(at), Value: &metrics.NumberDataPoint_AsDouble{AsDouble: v}}},
		}}}
	}
	const delta, cumulative = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA, metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	ms := []*metrics.Metric{
		sum("requests", delta, at-30, float64(7*i%11)),
		sum("started", cumulative, max(at-30*int64(i%13), begin-1), counter(i)),
		sum("unsaid", cumulative, 0, counter(i)),
		{Name: "load", Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{
			DataPoints: []*metrics.NumberDataPoint{{TimeUnixNano: nanos(at), Value: &metrics.NumberDataPoint_AsDouble{AsDouble: level(i)}}},
		}}},
	}
	if i%9 < 4 { // clients send no delta while nothing is counted
		ms = append(ms, sum("seldom", delta, at-30, float64(i)))
	}
	b, err := proto.Marshal(&metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:     &resource.Resource{Attributes: []*common.KeyValue{attribute("service.name", "shop")}},
		ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: ms}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return []message{{path: "/v1/metrics", body: b, header: map[string]string{"Content-Type": "application/x-protobuf"}}}
}

// monoRound is a connection of an agent, which says again which counters it samples.
func monoRound(t *testing.T, i int, at int64) []message {
	b, err := mono.AppendHello(nil, []mono.Counter{
		{Category: mono.Custom, Name: "requests", Type: mono.Long, Variance: mono.Monotonic, Index: 3},
		{Category: mono.Custom, Name: "load", Type: mono.Double, Variance: mono.Variable, Index: 4},
	})
	if err == nil {
		b, err = mono.AppendSample(b, mono.Ticks(rra.Seconds(at)), []mono.Value{
			{Index: 3, Type: mono.Long, Bits: uint64(i * i)}, {Index: 4, Type: mono.Double, Bits: math.Float64bits(level(i))},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return []message{{body: b, samples: 2}}
}

// smonRound is a stream that names its tokens again.
func smonRound(t *testing.T, i int, _ int64) []message {
	var e smon.Encoder
	for name, v := range map[string]uint64{"load": uint64(20 + i*i%17), "sent": uint64(counter(i))} {
		if err := e.Unsigned(name, nil, v); err != nil {
			t.Fatal(err)
		}
	}
	return []message{{body: e.Bytes(), samples: 2}}
}
