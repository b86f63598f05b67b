package prom_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// TestNamesThatCleanToOneAreApart: Ganglia's metrics load.one and load_one were two metrics with the
// same labels, and a query for them was an error.
func TestNamesThatCleanToOneAreApart(t *testing.T) {
	w := newWorld(t)
	for _, x := range [][2]string{
		{"g/1", "host=h metric=load-one"},
		{"g/2", "host=h metric=load.one"},
		{"g/3", "host=h metric=load_one"},
		{"same/1", "__name__=up job=a"},
		{"same/3", "__name__=up job=a path=same/1"},
		{"same/2.rrd", "__name__=up job=a"},
	} {
		w.feed(w.create(x[0], x[1], definition(rra.Gauge, 10, 1)), 10, 3, gauge(1))
	}
	w.is(
		"ganglia_load_one", 30,
		`ganglia_load_one{instance="h", raw_name="load-one"} => 1`,
		`ganglia_load_one{instance="h", raw_name="load.one"} => 1`,
		`ganglia_load_one{instance="h"} => 1`,
	)
	w.is(`ganglia_load_one{raw_name="load.one"}`, 30, `ganglia_load_one{instance="h", raw_name="load.one"} => 1`)
	w.is(`ganglia_load_one{raw_name=""}`, 30, `ganglia_load_one{instance="h"} => 1`)
	w.is(
		`up{job="a"}`, 30,
		`up{_path="same/1", job="a", path="same/1"} => 1`,
		`up{_path="same/3", job="a", path="same/1"} => 1`,
		`up{job="a", path="same/2"} => 1`,
	)
	w.is(`count by (instance) (ganglia_load_one)`, 30, `{instance="h"} => 3`)
}

// TestNoTwoMetricsHaveTheSameLabels makes series of random names, of few letters and of those that
// names of metrics cannot have.
func TestNoTwoMetricsHaveTheSameLabels(t *testing.T) {
	r := seedtest.Rand(t)
	w := newWorld(t)
	word := func() string {
		return strings.Repeat("a", r.IntN(2)) + []string{"", ".", "-", "_", ":", "_total", ":1", ":rate", "é"}[r.IntN(9)] + "b"[:r.IntN(2)]
	}
	kinds := [][]string{
		{"host", "metric", "cluster"},
		{"host", "plugin", "type", "plugin_instance", "type_instance"},
		{"plugin", "owner", "name", "uuid"},
		{"peer", "category", "name"},
		{"peer", "token", "index"},
		{"__name__", "path", "_path", "raw_name"},
		{"path", "raw_name", "x"},
	}
	for i := range 600 {
		d := definition([]rra.Kind{rra.Gauge, rra.Derive}[r.IntN(2)], 10, 1)
		d.Sources = append(d.Sources, d.Sources[0])
		d.Sources[0].Name, d.Sources[1].Name = []string{"v", "sum", "value"}[r.IntN(3)], []string{"v_total", "rx"}[r.IntN(2)]
		spec := core.Spec{Path: fmt.Sprintf("%s/%d", word(), i), Definition: d, Start: rra.Seconds(t0)}
		for _, name := range kinds[r.IntN(len(kinds))] {
			if v := word(); v != "" {
				spec.Labels = append(spec.Labels, core.Label{Name: name, Value: v})
			}
		}
		if _, err := w.store.Create(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	all := w.selected(t.Context(), labels.MustNewMatcher(labels.MatchNotEqual, "__name__", ""))
	for i := 1; i < len(all); i++ {
		if labels.Equal(all[i-1], all[i]) {
			t.Errorf("two metrics %v", all[i])
		}
	}
	if len(all) < 1200 {
		t.Errorf("%d metrics of 600 series with two data sources", len(all))
	}
}
