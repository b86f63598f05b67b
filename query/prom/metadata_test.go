package prom_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestMetadata: metrics have the units and descriptions of their series, each once; a virtual
// counter is a counter and its stored rate a gauge; the parts of a histogram are one metric.
func TestMetadata(t *testing.T) {
	w := newWorld(t)
	gauge, counter := definition(rra.Gauge, 10, 1), definition(rra.Counter, 10, 1)
	w.create("a/load", "host=a metric=load", gauge)
	w.create("b/load", "host=b metric=load", gauge)
	w.create("c/load", "host=c metric=load", gauge)
	w.create("sent", "__name__=bytes_total job=x", counter)
	w.create("sum", "__name__=wait_seconds_sum job=x", gauge)
	w.create("bucket", "__name__=wait_seconds_bucket job=x le=1", gauge)
	w.create("silent", "__name__=silent job=x", gauge)
	attributes := func(pairs ...string) (m core.Metadata) {
		m.Time = rra.Seconds(t0)
		for i := 0; i < len(pairs); i += 2 {
			m.Attributes = append(m.Attributes, core.Label{Name: pairs[i], Value: pairs[i+1]})
		}
		return m
	}
	var all []core.PathMetadata
	for path, m := range map[string]core.Metadata{
		"a/load": attributes("description", "how busy", "units", "1"),
		"b/load": attributes("description", "how busy", "units", "1"),
		"c/load": attributes("description", "how busy", "type", "float", "units", "jobs"),
		"sent":   attributes("help", "what went out", "type", "counter", "unit", "bytes"),
		"sum":    attributes("help", "how long", "type", "histogram"),
		"bucket": attributes("help", "how long", "type", "histogram"),
		"silent": attributes("owner", "nobody"),
		"text":   attributes("description", "of no series"),
	} {
		all = append(all, core.PathMetadata{Path: path, Metadata: m})
	}
	if _, err := w.store.SetMetadata(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	want := map[string][]metadata.Metadata{
		"ganglia_load":     {{Type: "gauge", Help: "how busy", Unit: "1"}, {Type: "gauge", Help: "how busy", Unit: "jobs"}},
		"bytes_total":      {{Type: "counter", Help: "what went out", Unit: "bytes"}},
		"bytes_total:rate": {{Type: "gauge", Help: "what went out", Unit: "bytes"}},
		"wait_seconds":     {{Type: "histogram", Help: "how long"}},
	}
	for metric, want := range map[string]map[string][]metadata.Metadata{"": want, "bytes_total": {"bytes_total": want["bytes_total"]}, "nothing": {}} {
		got, err := w.prom.Metadata(t.Context(), metric)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", metric, diff)
		}
	}
}
