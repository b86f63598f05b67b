package sink_test

import (
	"errors"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
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
		r := sink.Rule{Path: tt.path}
		if got := r.Below(tt.name); got != tt.want {
			t.Errorf("%q below %s: %v, want %v", tt.path, tt.name, got, tt.want)
		}
	}
}

func TestRuleCovers(t *testing.T) {
	host := map[string]string{"host": "a"}
	both := map[string]string{"host": "a", "type": "b"}
	for _, tt := range []struct {
		r, o sink.Rule
		want bool
	}{
		{sink.Rule{}, sink.Rule{Path: "x", Labels: host}, true},
		{sink.Rule{Path: "**"}, sink.Rule{Labels: host}, true},
		{sink.Rule{Path: "x"}, sink.Rule{Path: "x"}, true},
		{sink.Rule{Path: "x"}, sink.Rule{}, false},
		{sink.Rule{Path: "x"}, sink.Rule{Path: "y"}, false},
		{sink.Rule{Labels: host}, sink.Rule{Path: "x", Labels: both}, true},
		{sink.Rule{Labels: both}, sink.Rule{Labels: host}, false},
		{sink.Rule{Labels: host}, sink.Rule{Labels: map[string]string{"host": "b"}}, false},
		{sink.Rule{Path: "collectd/**"}, sink.Rule{Path: "collectd/*/cpu-*/**"}, true},
		{sink.Rule{Path: "collectd/*/**"}, sink.Rule{Path: "collectd/a/*"}, true},
		{sink.Rule{Path: "collectd/*/**"}, sink.Rule{Path: "collectd/a/b/c"}, true},
		{sink.Rule{Path: "collectd/*"}, sink.Rule{Path: "collectd/**"}, false},
		{sink.Rule{Path: "collectd/*"}, sink.Rule{Path: "collectd/a/b"}, false},
		{sink.Rule{Path: "a?c"}, sink.Rule{Path: "abc"}, true},
		{sink.Rule{Path: "a?c"}, sink.Rule{Path: "a*c"}, false},
		{sink.Rule{Path: "a?c"}, sink.Rule{Path: "a/c"}, false},
		{sink.Rule{Labels: map[string]string{"host": "lab*"}}, sink.Rule{Labels: map[string]string{"host": "lab/7*"}}, true},
		{sink.Rule{Labels: map[string]string{"host": "*"}}, sink.Rule{Path: "x"}, true},
		{sink.Rule{Labels: map[string]string{"host": "?*"}}, sink.Rule{Path: "x"}, false},
	} {
		if got := tt.r.Covers(&tt.o); got != tt.want {
			t.Errorf("%+v covers %+v: %v, want %v", tt.r, tt.o, got, tt.want)
		}
	}
}

func TestPolicySources(t *testing.T) {
	p, err := sink.NewPolicy([]sink.Rule{
		{Path: "gw/**", Sources: []string{"DS:in:COUNTER:600:0:U", "DS:out:COUNTER:600:0:U"}},
		{Path: "host/*"},
		{Step: 60},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path  string
		names bool
		want  int
	}{{"gw/eth0.rrd", true, 2}, {"host/load", true, 0}, {"other", false, 0}} {
		id := receivers.Identity{Path: tt.path}
		if got := p.Names(id); got != tt.names {
			t.Errorf("%s: a rule names it: got %v, want %v", tt.path, got, tt.names)
		}
		if got := p.Sources(id); len(got) != tt.want {
			t.Errorf("%s: got the sources %v, want %d", tt.path, got, tt.want)
		}
	}
	if ds := p.Sources(receivers.Identity{Path: "gw/a"}); ds[1].Name != "out" || ds[1].Kind != rra.Counter || ds[1].Heartbeat != 600 {
		t.Errorf("got %+v", ds)
	}
	if (*sink.Policy)(nil).Names(receivers.Identity{Path: "a"}) || (*sink.Policy)(nil).Sources(receivers.Identity{Path: "a"}) != nil {
		t.Error("no policy names series")
	}
	for _, bad := range []string{"RRA:AVERAGE:0.5:1:1", "DS:in:COUNTER:600:0", ""} {
		var e *sink.RuleError
		if _, err := sink.NewPolicy([]sink.Rule{{Sources: []string{bad}}}); !errors.As(err, &e) || e.Field != sink.FieldSources {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
