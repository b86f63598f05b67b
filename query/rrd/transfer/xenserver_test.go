package transfer_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// TestXenServer: dumps of xcp-rrdd come in: a long name, an xff of 1, an infinite heartbeat.
func TestXenServer(t *testing.T) {
	const dump = `<?xml version="1.0" encoding="UTF-8"?>
<rrd><version>0003</version><step>5</step><lastupdate>1700000003.512</lastupdate><ds><name>NAME</name><type>GAUGE</type><minimal_heartbeat>Infinity</minimal_heartbeat><min>-Infinity</min><max>Infinity</max><last_ds>33351000</last_ds><value>100053000.0</value><unknown_sec>0</unknown_sec></ds><rra><cf>AVERAGE</cf><pdp_per_row>12</pdp_per_row><params><xff>1.0000</xff></params><cdp_prep><ds><primary_value>0.0</primary_value><secondary_value>0.0</secondary_value><value>NaN</value><unknown_datapoints>0</unknown_datapoints></ds></cdp_prep><database><row><v>33350000.0000</v></row><row><v>NaN</v></row></database></rra></rrd>`
	s := enginetest.Open(t)
	name := strings.Repeat("vif_0123456789_rx", 15) // 255 bytes
	out := imported(t, s, transfer.Options{},
		transfer.Item{Path: "host", Data: []byte(strings.Replace(dump, "NAME", name, 1))},
		transfer.Item{Path: "longer", Data: []byte(strings.Replace(dump, "NAME", name+"x", 1))})
	if r := out["longer"]; r.Outcome != transfer.Failed {
		t.Errorf("a name of 256 bytes: %v", r.Outcome)
	}
	if r := out["host"]; r.Outcome != transfer.Imported {
		t.Fatal(r.Err)
	}
	ref, err := s.Lookup("host")
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Series(ref)
	if err != nil {
		t.Fatal(err)
	}
	d := x.Definition
	if d.Sources[0].Name != name || d.Sources[0].Heartbeat != math.MaxInt32 || d.Archives[0].XFF != 0.999999 {
		t.Errorf("%+v %+v", d.Sources[0], d.Archives[0])
	}
	rows, err := s.Fetch(t.Context(), ref, 0, 1_699_999_860, 1_699_999_980)
	if err != nil || !equal(rows.Values, []float64{33350000, math.NaN()}) {
		t.Errorf("rows %v, %v", rows.Values, err)
	}
}

// equal reports whether values are the same; unknown ones are.
func equal(a, b []float64) bool {
	for i := range a {
		if i >= len(b) || a[i] != b[i] && (a[i] == a[i] || b[i] == b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}
