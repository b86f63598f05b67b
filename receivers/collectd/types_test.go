package collectd

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/rra"
)

func TestStandardTypes(t *testing.T) {
	ts := StandardTypes()
	if len(ts) != 366 {
		t.Errorf("%d types, collectd 5.12 has 366", len(ts))
	}
	for name, want := range map[string]string{
		"compression": "uncompressed, compressed", "df": "used, free", "disk_io_time": "io_time, weighted_io_time",
		"disk_latency": "read, write", "io_ops": "read, write", "arc_l2_bytes": "read, write",
		"dns_octets": "queries, responses", "domain_state": "state, reason",
		"if_octets": "rx, tx", "ib_octets": "rx, tx", "serial_octets": "rx, tx",
		"load": "shortterm, midterm, longterm", "ps_count": "processes, threads", "ps_cputime": "user, syst",
		"ps_pagefaults": "minflt, majflt", "vmpage_faults": "minflt, majflt",
		"smart_attribute": "current, worst, threshold, pretty",
		"vf_bytes":        "vf_rx, vf_tx", "vf_broadcast": "vf_value", "vmpage_io": "in, out",
		"voltage_threshold": "value, threshold", "duration": "seconds",
		"arc_counts":   "demand_data, demand_metadata, prefetch_data, prefetch_metadata",
		"arc_size":     "current, target, minlimit, maxlimit",
		"mysql_qcache": "hits, inserts, not_cached, lowmem_prunes, queries_in_cache",
		"cpu":          "value", "gauge": "value", "uptime": "value",
	} {
		var names []string
		for _, ds := range ts[name] {
			names = append(names, ds.Name)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	nan := math.NaN()
	for name, want := range map[string][2]float64{
		"gauge": {nan, nan}, "derive": {0, nan}, "percent": {0, 100.1}, "load": {0, 5000},
		"uptime": {0, 4294967295}, "counter": {nan, nan}, "df": {0, 1125899906842623},
		"temperature": {nan, nan}, "time_offset": {-1000000, 1000000},
	} {
		got := [2]float64{ts[name][0].Min, ts[name][0].Max}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTypesParse(t *testing.T) {
	const text = `# a comment
gauge value:GAUGE:0:10
pair  in:DERIVE:0:U out:COUNTER:U:5 # and more
trio	a:GAUGE:U:U, b:absolute:U:U ,c:GAUGE:-1e3:+1e3
nothing

kind value:FOO:0:U
fields value:GAUGE:0
limit value:GAUGE:0:x
infinite value:GAUGE:0:inf
order value:GAUGE:5:5
name a.b:GAUGE:U:U
long abcdefghijklmnopqrst:GAUGE:U:U
twice a:GAUGE:U:U a:GAUGE:U:U
last value:GAUGE:U:1`
	ts := Types{"gauge": nil, "kept": nil}
	var lines []int
	ts.Parse(text, func(line int, err error) {
		lines = append(lines, line)
		t.Logf("%d: %v", line, err)
	})
	if diff := cmp.Diff([]int{5, 7, 8, 9, 10, 11, 12, 13, 14}, lines); diff != "" {
		t.Errorf("lines left out (-want +got):\n%s", diff)
	}
	nan := math.NaN()
	want := Types{
		"kept":  nil,
		"gauge": {{Name: "value", Kind: rra.Gauge, Min: 0, Max: 10}},
		"pair":  {{Name: "in", Kind: rra.Derive, Min: 0, Max: nan}, {Name: "out", Kind: rra.Counter, Min: nan, Max: 5}},
		"trio": {
			{Name: "a", Kind: rra.Gauge, Min: nan, Max: nan},
			{Name: "b", Kind: rra.Absolute, Min: nan, Max: nan},
			{Name: "c", Kind: rra.Gauge, Min: -1000, Max: 1000},
		},
		"last": {{Name: "value", Kind: rra.Gauge, Min: nan, Max: 1}},
	}
	if diff := cmp.Diff(want, ts, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDefineSources: the wire says the kind, the types.db the name and the limits.
func TestDefineSources(t *testing.T) {
	ts := StandardTypes()
	nan := math.NaN()
	for _, test := range []struct {
		typ   string
		kinds []byte
		want  []rra.DataSource
	}{
		{"percent", []byte{KindDerive}, []rra.DataSource{{Name: "value", Kind: rra.Derive, Heartbeat: 20, Min: 0, Max: 100.1}}},
		{"gauge", []byte{KindDerive}, []rra.DataSource{{Name: "value", Kind: rra.Derive, Heartbeat: 20, Min: nan, Max: nan}}},
		{"no such", []byte{KindDerive}, []rra.DataSource{{Name: "value", Kind: rra.Derive, Heartbeat: 20, Min: 0, Max: nan}}},
		{"load", []byte{KindGauge, KindCounter}, []rra.DataSource{
			{Name: "value0", Kind: rra.Gauge, Heartbeat: 20, Min: nan, Max: nan},
			{Name: "value1", Kind: rra.Counter, Heartbeat: 20, Min: nan, Max: nan},
		}},
		{"load", []byte{KindGauge}, []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: 20, Min: nan, Max: nan}}},
	} {
		got := ts.Define(test.typ, test.kinds, 0, 0).Sources
		if diff := cmp.Diff(test.want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", test.typ, test.kinds, diff)
		}
	}
	if ts["load"][0].Heartbeat != 0 {
		t.Error("Define has changed the types")
	}
}
