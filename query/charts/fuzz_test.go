package charts_test

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/charts"
)

// Paths, units and titles come from anybody. Whatever they are, every data source has its chart,
// and graph takes the arguments.
func FuzzCharts(f *testing.F) {
	for _, paths := range []string{
		"collectd/web1/cpu-0/cpu-idle", "ganglia/web1/cpu_user\nganglia/web1/cpu_idle", "a:b/c\\:d\\e\\", "cpu-*/cpu-$1\ncpu-$1/cpu-$2", "rrdd/x/vm/y/vif_0_rx",
		"collectd/h/-/-", "collectd/h/df-/df_complex-", "cpu_", "load_\x7f", "x/%s\\l\nx/<b>", "mono/h/Mono GC/ GC time", "collectd/h/interface-a:b/if_octets",
	} {
		f.Add(paths, "B", "a title: \\l %n")
	}
	s := enginetest.Open(f)
	f.Fuzz(func(t *testing.T, paths, unit, title string) {
		var series []charts.Series
		seen := make(map[string]bool)
		for path := range strings.SplitSeq(paths, "\n") {
			if seen[path] || path == "" {
				continue
			}
			seen[path] = true
			series = append(series, charts.Series{
				Path: path, Unit: unit, Title: title, Group: title, CFs: []string{"AVERAGE", "MIN", "MAX"},
				Sources: []charts.Source{{Name: "rx", Rate: len(path)%2 == 0}, {Name: "value"}},
			})
		}
		shown := 0
		for _, c := range charts.Assemble("collectd/h", series) {
			shown += len(c.Lines)
			if n := len(c.Lines); n == 0 || n > 16 {
				t.Errorf("%q has %d lines", c.ID, n)
			}
			// The series are not there, which is found out when the arguments are understood.
			if args := c.Arguments(); args != nil {
				if err := draw(t, s, &c); err == nil || !strings.Contains(err.Error(), "no such series") {
					t.Errorf("%v\n%s", err, strings.Join(args, "\n"))
				}
			}
		}
		if shown < len(series) {
			t.Errorf("%d lines of %d series", shown, len(series))
		}
	})
}
