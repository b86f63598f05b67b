package influx_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/influx"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// line returns line n of the suite.
func line(n int) []byte {
	return fmt.Appendf(nil, "load,host=a value=%d %d000000000\n", n, receivertest.Epoch+n)
}

// garbage are lines that are wrong, each in its own way.
var garbage = [][]byte{
	[]byte("x"), []byte("x "), []byte("x y"), []byte("x y="), []byte("x y=1 z"), []byte("x =1"), []byte(",a=b y=1"),
	[]byte("x,a y=1"), []byte("x,a= y=1"), []byte("x,=b y=1"), []byte("x,a=1,a=2 y=1"), []byte(`x y="`), []byte(`x y="a"b`),
	[]byte("x y=1i2"), []byte("x y=--1"), []byte("x y=NaN"), []byte("x y=0x10"), []byte("x y=9223372036854775808i"),
	[]byte("x y=-1u"), []byte("x y=tru"), []byte("x y=1 99999999999999999999"), []byte("x y=1,"), []byte("x y=1,,z=1"),
	[]byte("x\\"), []byte("\\ \\,\\= \\=1"), bytes.Repeat([]byte("9"), 60_000), bytes.Repeat([]byte("x,"), 30_000),
	[]byte("x" + strings.Repeat(",a=b", 200) + " y=1"), []byte("x y=1" + strings.Repeat(",y=1", 5000)),
}

// TestSuite: it does what every receiver must do.
func TestSuite(t *testing.T) {
	receivertest.Run(t, receivertest.Case{Protocol: influx.Protocol, Message: line, Garbage: garbage})
}

// TestSeries: each field that is a number becomes a series of its own, with the tags as labels.
func TestSeries(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, receivertest.Case{
		Protocol: influx.Protocol,
		Options:  map[string][]string{"influx-step": {"30"}, "influx-database": {"telegraf"}},
	}, rec, nil)
	r.Send(fmt.Appendf(nil, "cpu,host=web1,cpu=cpu0 usage_idle=99.5,up=t,state=\"well\",value=-3i,n=18446744073709551615u %d000000000", receivertest.Epoch))
	got := r.UntilSamples(4)
	want := map[string]rra.Value{"usage_idle": rra.Float(99.5), "up": rra.Int(1), "value": rra.Int(-3), "n": rra.Uint(1<<64 - 1)}
	names := map[string]string{"usage_idle": "cpu_usage_idle", "up": "cpu_up", "value": "cpu", "n": "cpu_n"}
	series := make(map[string]core.Series)
	for _, s := range rec.Series() {
		series[s.Path] = s
	}
	for _, s := range got {
		field := s.Path[strings.LastIndexByte(s.Path, '/')+1:]
		if s.Path != "influx/cpu/cpu=cpu0,db=telegraf,host=web1/"+field || s.Values[0] != want[field] || s.At != rra.Seconds(receivertest.Epoch) {
			t.Errorf("sample %+v, want %+v of %s", s, want[field], field)
		}
		labels := []core.Label{
			{Name: "__name__", Value: names[field]}, {Name: "cpu", Value: "cpu0"}, {Name: "db", Value: "telegraf"}, {Name: "host", Value: "web1"},
		}
		if diff := cmp.Diff(labels, series[s.Path].Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Path, diff)
		}
		if d := series[s.Path].Definition; d.Step != 30 || d.Sources[0].Kind != rra.Gauge || d.Sources[0].Heartbeat != 60 {
			t.Errorf("%s: %+v", s.Path, d)
		}
	}
	if st := r.Stats(); st.Dropped[receivers.Unsupported] != 1 {
		t.Errorf("stats %+v, want one string", st)
	}
}

// TestPolicyKind: the policy's data sources make a counter of a field, which InfluxDB has no kind
// for.
func TestPolicyKind(t *testing.T) {
	policy, err := sink.NewPolicy([]sink.Rule{{Path: "influx/net/**", Sources: []string{"DS:value:DERIVE:20:0:U"}}})
	if err != nil {
		t.Fatal(err)
	}
	rec := &receivertest.Recorder{Policy: policy}
	r := receivertest.Start(t, receivertest.Case{Protocol: influx.Protocol}, rec, nil)
	r.Send(fmt.Appendf(nil, "net,host=a bytes_recv=7,drop=2.0 %[1]d000000000\nnet,host=a bytes_recv=8.5 %[1]d000000001", receivertest.Epoch))
	for _, s := range r.UntilSamples(2) {
		if v := s.Values[0]; v != rra.Int(7) && v != rra.Int(2) {
			t.Errorf("%s: %+v, want a whole number", s.Path, v)
		}
	}
	for _, s := range rec.Series() {
		if s.Definition.Sources[0].Kind != rra.Derive {
			t.Errorf("%s: %+v", s.Path, s.Definition.Sources)
		}
	}
	r.Stop()
	if st := r.Stats(); st.Samples != 2 || st.Dropped[receivers.State] != 1 {
		t.Errorf("stats %+v, want the fraction dropped", st)
	}
}

// TestArrival: a line without a time has the time of its arrival.
func TestArrival(t *testing.T) {
	r := receivertest.Start(t, receivertest.Case{Protocol: influx.Protocol}, new(receivertest.Recorder), nil)
	r.Send([]byte("# a comment\n\n load value=1\r\n"))
	if s := r.UntilSamples(1)[0]; s.At != rra.Seconds(receivertest.Now) || s.Path != "influx/load/value" {
		t.Errorf("%+v", s)
	}
}
