package sink_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

func define(step int64) *rra.Definition {
	if step == 0 {
		step = 10
	}
	return &rra.Definition{
		Step:     step,
		Sources:  []rra.DataSource{{Name: "value", Heartbeat: 20, Min: math.NaN(), Max: math.NaN()}},
		Archives: receivers.StandardArchives(step),
	}
}

func TestPolicy(t *testing.T) {
	p, err := sink.NewPolicy([]sink.Rule{
		{Path: "collectd/*/cpu-?/**", Heartbeat: 600},
		{Path: "collectd/db*", Step: 99},
		{Labels: map[string]string{"host": "db*", "type": "df"}, Step: 60, Archives: []string{"RRA:AVERAGE:0.5:5m:1h", "RRA:MAX:0.5:1:10"}},
		{Path: "**", Labels: map[string]string{"plugin_instance": ""}, Step: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	labels := func(host, typ, instance string) []core.Label {
		return []core.Label{{Name: "host", Value: host}, {Name: "type", Value: typ}, {Name: "plugin_instance", Value: instance}}
	}
	for _, test := range []struct {
		path      string
		labels    []core.Label
		rule      int
		step      int64
		heartbeat int64
		archives  int
	}{
		{"collectd/web1/cpu-0/cpu-idle", nil, 0, 10, 600, 15},
		{"collectd/web1/cpu-0/a/b", nil, 0, 10, 600, 15},
		{"collectd/web1/cpu-10/cpu-idle", labels("", "", "x"), -1, 10, 20, 15},
		{"collectd/a/b/cpu-0/cpu-idle", labels("", "", "x"), -1, 10, 20, 15},
		{"xcollectd/web1/cpu-0/cpu-idle", labels("", "", "x"), -1, 10, 20, 15},
		{"collectd/db1/df/df-root", labels("db1", "df", "x"), 2, 60, 20, 2},
		{"anything", labels("db/1", "df", "x"), 2, 60, 20, 2},
		{"anything", labels("web", "df", ""), 3, 5, 20, 15},
	} {
		id := receivers.Identity{Path: test.path, Labels: test.labels}
		if got := p.Match(id); got != test.rule {
			t.Errorf("%s: rule %d, want %d", test.path, got, test.rule)
		}
		d, err := p.Define(id, define)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		if d.Step != test.step || d.Sources[0].Heartbeat != test.heartbeat || len(d.Archives) != test.archives {
			t.Errorf("%s: step %d, heartbeat %d, %d archives, want %d, %d, %d",
				test.path, d.Step, d.Sources[0].Heartbeat, len(d.Archives), test.step, test.heartbeat, test.archives)
		}
	}
	for want, r := range map[string]sink.Rule{
		"rule 2: step: -1 is not in":       {Step: -1},
		"rule 2: heartbeat: ":              {Heartbeat: -1},
		"rule 2: expire: ":                 {Expire: 1 << 40},
		"rule 2: labels: a label has ":     {Labels: map[string]string{"": "x"}},
		"rule 2: path: is not UTF-8":       {Path: "a\xff"},
		"rule 2: archives: ":               {Archives: []string{"RRA:FOO:0.5:1:1"}},
		`"DS:a:GAUGE:1:U:U" is no archive`: {Archives: []string{"DS:a:GAUGE:1:U:U"}},
	} {
		if _, err := sink.NewPolicy([]sink.Rule{{}, r}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", r, err, want)
		}
	}
}
