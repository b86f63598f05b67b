package rrdd

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// TestKinds: the words, in the vocabularies.
func TestKinds(t *testing.T) {
	for _, test := range []struct {
		types                string
		valueType            ValueType
		legacy, modern, auto []rra.Kind
	}{
		{"absolute", Float, kinds(rra.Gauge), kinds(rra.Absolute), kinds(rra.Gauge)},
		{"absolute", Int64, kinds(rra.Gauge), kinds(rra.Absolute), kinds(rra.Gauge)},
		{"absolute gauge", Float, kinds(rra.Gauge, rra.Gauge), kinds(rra.Absolute, rra.Gauge), kinds(rra.Absolute, rra.Gauge)},
		{"absolute derive", Float, kinds(rra.Gauge, rra.DDerive), kinds(rra.Absolute, rra.DDerive), kinds(rra.Absolute, rra.DDerive)},
		{"derive", Int64, kinds(rra.Derive), kinds(rra.Derive), kinds(rra.Derive)},
		{"absolute rate", Float, kinds(rra.Gauge, rra.Absolute), kinds(rra.Absolute, rra.Absolute), kinds(rra.Gauge, rra.Absolute)},
		{"absolute absolute_to_rate", Int64, kinds(rra.Gauge, rra.Derive), kinds(rra.Absolute, rra.Derive), kinds(rra.Gauge, rra.Derive)},
		{"absolute_to_rate", Float, kinds(rra.DDerive), kinds(rra.DDerive), kinds(rra.DDerive)},
		{"gauge absolute rate", Float, kinds(rra.Gauge, rra.Gauge, rra.Absolute), kinds(rra.Gauge, rra.Absolute, rra.Absolute), kinds(rra.Gauge, rra.Gauge, rra.Absolute)},
	} {
		var sources []Source
		for w := range strings.FieldsSeq(test.types) {
			i, _ := scalar{kind: stringScalar, text: []byte(w)}.word(typeWords)
			sources = append(sources, Source{Type: Type(i), ValueType: test.valueType})
		}
		for v, want := range map[Vocabulary][]rra.Kind{Legacy: test.legacy, Modern: test.modern, Auto: test.auto} {
			var got []rra.Kind
			for i := range sources {
				got = append(got, v.Kind(&sources[i], sources))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s, %s (-want +got):\n%s", test.types, test.valueType, v, diff)
			}
		}
	}
}

func kinds(ks ...rra.Kind) []rra.Kind { return ks }

func TestIdentify(t *testing.T) {
	all := Source{
		Name: "a/b .", Owner: VM, UUID: "x/y", Units: "B/s", Description: "what\x00it\xffis", Default: true, Transform: Inverse,
	}
	long := Source{Name: "..", Description: strings.Repeat("é", 3000)}
	for _, test := range []struct {
		plugin string
		source Source
		want   receivers.Identity
	}{
		{"demo", Source{Name: "temp"}, receivers.Identity{Path: "rrdd/demo/host/temp", Labels: []core.Label{
			{Name: "plugin", Value: "demo"}, {Name: "name", Value: "temp"}, {Name: "owner", Value: "host"}, {Name: "default", Value: "false"}, {Name: "transform", Value: "identity"},
		}}},
		{"de\x01mo", all, receivers.Identity{Path: "rrdd/de_mo/vm/x_y/a_b .~30eb9df99f2bfc12", Labels: []core.Label{
			{Name: "plugin", Value: "de\x01mo"},
			{Name: "name", Value: "a/b ."},
			{Name: "owner", Value: "vm"},
			{Name: "uuid", Value: "x/y"},
			{Name: "units", Value: "B/s"},
			{Name: "description", Value: "what\uFFFDit\uFFFDis"},
			{Name: "default", Value: "true"},
			{Name: "transform", Value: "inverse"},
		}}},
		{"demo", long, receivers.Identity{Path: "rrdd/demo/host/__~1af90e9530d7ba43", Labels: []core.Label{
			{Name: "plugin", Value: "demo"},
			{Name: "name", Value: ".."},
			{Name: "owner", Value: "host"},
			{Name: "description", Value: strings.Repeat("é", maxLabel/2)},
			{Name: "default", Value: "false"},
			{Name: "transform", Value: "identity"},
		}}},
	} {
		if diff := cmp.Diff(test.want, Identify(test.plugin, &test.source)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.source.Name, diff)
		}
	}
}

func TestDefine(t *testing.T) {
	archives := func(pairs ...int64) (as []rra.Archive) {
		for i := 0; i < len(pairs); i += 2 {
			as = append(as, rra.Archive{CF: rra.Average, XFF: 0.5, PDPs: pairs[i], Rows: pairs[i+1]})
		}
		return as
	}
	none := math.NaN()
	for _, test := range []struct {
		name     string
		source   Source
		step     int64
		min, max float64
		want     rra.Definition
	}{
		{"the daemon's", Source{Min: -inf, Max: inf}, 0, none, none, rra.Definition{Step: 5, Archives: archives(1, 120, 12, 120, 720, 168, 17280, 366)}},
		{"limits", Source{Min: -1, Max: 1}, 5, -1, 1, rra.Definition{Step: 5, Archives: archives(1, 120, 12, 120, 720, 168, 17280, 366)}},
		{"one limit", Source{Min: 0, Max: inf}, 1, 0, none, rra.Definition{Step: 1, Archives: archives(5, 120, 60, 120, 3600, 168, 86400, 366)}},
		{"a minute", Source{}, 60, none, none, rra.Definition{Step: 60, Archives: archives(1, 120, 60, 168, 1440, 366)}},
		{"a day", Source{}, 86400, none, none, rra.Definition{Step: 86400, Archives: archives(1, 366)}},
	} {
		test.want.Sources = []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: max(300, 2*test.step), Min: test.min, Max: test.max}}
		got := test.source.Define(rra.Gauge, test.step)
		if diff := cmp.Diff(&test.want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
