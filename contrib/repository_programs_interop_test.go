//go:build repositories

package contrib_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// repositoryProgram returns a file of a program that no package has. The folder of that program is
// in the folder that RONDO_REPOSITORY_PROGRAMS names: docs/graph.md says what to put there.
func repositoryProgram(t *testing.T, name, file string) string {
	t.Helper()
	folder := os.Getenv("RONDO_REPOSITORY_PROGRAMS")
	if folder == "" {
		t.Fatal("RONDO_REPOSITORY_PROGRAMS names no folder with repositories of programs")
	}
	path := filepath.Join(folder, name, file)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("RONDO_REPOSITORY_PROGRAMS: %v", err)
	}
	return path
}

// TestPagesOfMRTG has mrtg-rrd.cgi and 14all.cgi show MRTG's series.
func TestPagesOfMRTG(t *testing.T) {
	needLibrrd(t)
	for name, file := range map[string]string{"mrtg-rrd": "mrtg-rrd.cgi", "14all.cgi": "14all.cgi"} {
		t.Run(name, func(t *testing.T) {
			page := repositoryProgram(t, name, file)
			drawn := drawnByBoth(t, showing{
				seconds: 40 * drawnDay,
				command: perlOf(t, drawingProgram(t, "collectd-core"), absolute(t, "testdata/mrtg_pages.pl"), page),
			})
			if len(drawn) < 30 {
				t.Errorf("%d graphs", len(drawn))
			}
		})
	}
}

// TestProxmox has Proxmox VE read and draw its series.
func TestProxmox(t *testing.T) {
	needLibrrd(t)
	module := repositoryProgram(t, "pve-cluster", "src/PVE/RRD.pm")
	drawn := drawnByBoth(t, showing{
		seconds: 3 * drawnDay,
		command: []string{"perl", absolute(t, "testdata/proxmox.pl"), filepath.Dir(filepath.Dir(filepath.Dir(module)))},
	})
	if len(drawn) < 30 {
		t.Errorf("%d graphs", len(drawn))
	}
}

// cgpGraphs returns the commands that make series of all that CGP knows, as collectd does, and the
// queries for their graphs.
func cgpGraphs(t *testing.T, site string) (commands, queries []string) {
	t.Helper()
	sources := map[string][]string{} // by type
	db, err := os.ReadFile(filepath.Join(site, "inc/types.db"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(db)) {
		name, rest, found := strings.Cut(strings.TrimSpace(line), "\t")
		for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			if ds, _, ok := strings.Cut(word, ":"); ok && found {
				sources[name] = append(sources[name], ds)
			}
		}
	}
	plugins, err := filepath.Glob(filepath.Join(site, "plugin/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	series := func(name string, ds []string) {
		create, update := fmt.Sprintf("create data/%s.rrd --start %d --step 60", name, drawnEnd-drawnDay/2), "update data/"+name+".rrd"
		for _, s := range ds {
			create += " DS:" + s + ":GAUGE:120:U:U"
		}
		for _, cf := range []string{"MIN", "AVERAGE", "MAX"} {
			create += " RRA:" + cf + ":0.5:1:400 RRA:" + cf + ":0.5:7:400"
		}
		for n := 1; n <= drawnDay/2/60; n++ {
			update += fmt.Sprintf(" %d", drawnEnd-drawnDay/2+n*60)
			for i := range ds {
				update += fmt.Sprintf(":%.2f", 60+50*math.Sin(float64(n+40*i+13*number)/80))
			}
		}
		commands = append(commands, create, update)
		number++
	}
	for _, file := range plugins {
		plugin := strings.TrimSuffix(filepath.Base(file), ".json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var types map[string]struct{ Legend map[string]any }
		if json.Unmarshal(text, &types) != nil {
			continue // it has another form
		}
		for _, kind := range slices.Sorted(maps.Keys(types)) {
			switch ds := sources[kind]; {
			case len(ds) == 0:
				continue
			case len(ds) > 1 || len(types[kind].Legend) < 2:
				series("host/"+plugin+"/"+kind, ds)
			default:
				for _, instance := range slices.Sorted(maps.Keys(types[kind].Legend)) {
					if !strings.ContainsAny(instance, " /") {
						series("host/"+plugin+"/"+kind+"-"+instance, ds)
					}
				}
			}
			queries = append(queries, fmt.Sprintf("h=host&p=%s&t=%s&s=%d", plugin, kind, []int{7200, 28800, 86400}[len(queries)%3]))
		}
	}
	return commands, queries
}

// TestCGP has collectd's CGP draw every type that it has a recipe for.
func TestCGP(t *testing.T) {
	rrdtooltest.Need(t, "rrdtool", "bash")
	site := filepath.Dir(repositoryProgram(t, "CGP", "graph.php"))
	command, env := php(t)
	c := newCommander(t, site)
	c.write("conf/config.local.php", `<?php
$CONFIG['datadir'] = 'data';
$CONFIG['typesdb'] = ['inc/types.db'];
$CONFIG['rrdtool'] = './recorded_rrdtool.sh';
$CONFIG['rrdtool_opts'] = ['-e', '`+fmt.Sprint(drawnEnd)+`'];
$CONFIG['percentile'] = 95;
$CONFIG['graph_minmax'] = true;
`)
	c.record()
	commands, queries := cgpGraphs(t, site)
	c.fill(commands)
	for _, query := range queries {
		c.show(env, append(slices.Clone(command), absolute(t, "testdata/ganglia.php"), "graph.php", query)...)
	}
	if graphs := c.compare(); graphs < 60 {
		t.Errorf("%d graphs", graphs)
	}
}

// TestPNP4Nagios has the templates of PNP4Nagios draw a service of twelve values.
func TestPNP4Nagios(t *testing.T) {
	rrdtooltest.Need(t, "rrdtool", "bash")
	site := filepath.Dir(filepath.Dir(repositoryProgram(t, "pnp4nagios", "share/pnp/templates.dist/default.php")))
	command, env := php(t)
	c := newCommander(t, site)
	c.record()
	create, update := fmt.Sprintf("create service.rrd --start %d --step 60", drawnEnd-drawnDay/2), "update service.rrd"
	for i := range 12 {
		create += fmt.Sprintf(" DS:%d:GAUGE:8460:U:U", i+1)
	}
	for _, cf := range []string{"AVERAGE", "MAX", "MIN"} {
		create += " RRA:" + cf + ":0.5:1:2880 RRA:" + cf + ":0.5:5:2880"
	}
	for n := 1; n <= drawnDay/2/60; n++ {
		update += fmt.Sprintf(" %d", drawnEnd-drawnDay/2+n*60)
		for i := range 12 {
			update += fmt.Sprintf(":%.2f", 60+50*math.Sin(float64(n+40*i)/80))
		}
	}
	c.fill([]string{create, update})
	templates, err := filepath.Glob(filepath.Join(site, "templates.dist/*.php"))
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range templates {
		c.show(env, append(slices.Clone(command), absolute(t, "testdata/pnp.php"), "templates.dist/"+filepath.Base(template), fmt.Sprint(drawnEnd))...)
	}
	if graphs := c.compare(); graphs < 45 {
		t.Errorf("%d graphs", graphs)
	}
}

// record puts what records the calls of rrdtool into both folders.
func (c *commander) record() {
	c.t.Helper()
	recorder, err := os.ReadFile(absolute(c.t, "testdata/recorded_rrdtool.sh"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, dir := range []string{c.theirs, c.mine} {
		write(c.t, filepath.Join(dir, "recorded_rrdtool.sh"), string(recorder), 0o700)
	}
}
