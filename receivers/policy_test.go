package receivers_test

import (
	"testing"

	"github.com/rondo-db/rondo/receivers"
)

func TestRuleBelow(t *testing.T) {
	for _, tt := range []struct {
		path, name string
		want       bool
	}{
		{"", "collectd", true},
		{"**", "collectd", true},
		{"collectd/*/load", "collectd", true},
		{"collectd/*/load", "gmetric", false},
		{"collectd/", "collectd", false},
		{"collectd", "collectd", false},
		{"*", "collectd", false},
		{"*/cpu", "collectd", true},
		{"g*/**", "gmetric", true},
		{"g*/**", "collectd", false},
		{"mon?/x", "mono", true},
		{"**/load", "smon", true},
		{"coll**load", "collectd", true},
		{"coll**load", "smon", false},
	} {
		r := receivers.Rule{Path: tt.path}
		if got := r.Below(tt.name); got != tt.want {
			t.Errorf("%q below %s: %v, want %v", tt.path, tt.name, got, tt.want)
		}
	}
}

func TestRuleCovers(t *testing.T) {
	host := map[string]string{"host": "a"}
	both := map[string]string{"host": "a", "type": "b"}
	for _, tt := range []struct {
		r, o receivers.Rule
		want bool
	}{
		{receivers.Rule{}, receivers.Rule{Path: "x", Labels: host}, true},
		{receivers.Rule{Path: "**"}, receivers.Rule{Labels: host}, true},
		{receivers.Rule{Path: "x"}, receivers.Rule{Path: "x"}, true},
		{receivers.Rule{Path: "x"}, receivers.Rule{}, false},
		{receivers.Rule{Path: "x"}, receivers.Rule{Path: "y"}, false},
		{receivers.Rule{Labels: host}, receivers.Rule{Path: "x", Labels: both}, true},
		{receivers.Rule{Labels: both}, receivers.Rule{Labels: host}, false},
		{receivers.Rule{Labels: host}, receivers.Rule{Labels: map[string]string{"host": "b"}}, false},
	} {
		if got := tt.r.Covers(&tt.o); got != tt.want {
			t.Errorf("%+v covers %+v: %v, want %v", tt.r, tt.o, got, tt.want)
		}
	}
}
