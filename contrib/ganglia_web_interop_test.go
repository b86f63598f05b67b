package contrib_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// php begins the command of a program in PHP. Neither PHP nor what it needs need be installed.
func php(t *testing.T) (command, env []string) {
	t.Helper()
	root := drawingProgram(t, "php8.2-cli")
	one := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		return found[0]
	}
	command = []string{one("usr/bin/php[0-9]*"), "-n", "-d", "display_errors=0", "-d", "session.save_path=" + t.TempDir(), "-d", "date.timezone=Europe/Berlin", "-d", "extension_dir=" + one("usr/lib/php/2*")}
	for _, name := range []string{"ctype", "mbstring", "tokenizer", "posix", "simplexml"} {
		command = append(command, "-d", "extension="+name)
	}
	libraries, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
	if err != nil {
		t.Fatal(err)
	}
	return command, []string{"LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
}

// gangliaMetrics returns the metrics that the reports of ganglia-webfrontend are about.
func gangliaMetrics(t *testing.T, reports string) (metrics []string) {
	t.Helper()
	named := regexp.MustCompile(`"metric" *: *"(\w+)"|/(\w+)\.rrd`)
	err := fs.WalkDir(os.DirFS(reports), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(reports, name))
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			metrics = append(metrics, m[1]+m[2])
		}
		return err
	})
	if err != nil || len(metrics) < 30 {
		t.Fatalf("%q, %v", metrics, err)
	}
	slices.Sort(metrics)
	return slices.Compact(metrics)
}

// gangliaSeries returns commands that make the series as gmetad does: series of hosts have a sum,
// series of a cluster and of the grid also how many hosts it is of.
func gangliaSeries(metrics []string, seconds, step int) (commands []string) {
	for k, folder := range []string{"web/web1", "web/web2", "web/__SummaryInfo__", "__SummaryInfo__"} {
		for m, metric := range metrics {
			if folder == "web/web2" && m%4 != 0 && metric != "load_one" { // which is not asked for everything
				continue
			}
			name := "rrds/" + folder + "/" + metric + ".rrd"
			sources := fmt.Sprintf("DS:sum:GAUGE:%d:U:U", 8*step)
			if k > 1 {
				sources += fmt.Sprintf(" DS:num:GAUGE:%d:U:U", 8*step)
			}
			commands = append(commands, fmt.Sprintf("create %s --start %d --step %d %s RRA:AVERAGE:0.5:1:%d RRA:AVERAGE:0.5:4:%d RRA:AVERAGE:0.5:40:500", name, drawnEnd-seconds, step, sources, seconds/step/4, seconds/step))
			var update strings.Builder
			update.WriteString("update " + name)
			for n := 1; n*step <= seconds; n++ {
				value := fmt.Sprintf("%.3f", float64(k+1)*math.Abs(40+37*math.Sin(float64(n+9*m)/70)))
				if (n+m)%83 < 10 {
					value = "U"
				}
				if k > 1 {
					value += ":2"
				}
				update.WriteString(fmt.Sprintf(" %d:%s", drawnEnd-seconds+n*step, value))
			}
			commands = append(commands, update.String())
		}
	}
	return commands
}

// gangliaWebConf is what an administrator would write.
const gangliaWebConf = `<?php
$conf['rrds'] = 'rrds';
foreach (['dwoo_compiled_dir', 'dwoo_cache_dir', 'views_dir', 'conf_dir'] as $what) $conf[$what] = 'state';
$conf['cachefile'] = 'state/cache';
$conf['overlay_events_file'] = 'state/events.json';
$conf['overlay_events_color_map_file'] = 'state/colors.json';
$conf['rrdtool'] = './recorded_rrdtool.sh';
`

// gangliaQueries are the pages that are shown.
func gangliaQueries(reports []string) (queries [][2]string) {
	day := fmt.Sprintf("&cs=%d&ce=%d", drawnEnd-drawnDay/3, drawnEnd)
	ask := func(query string) { queries = append(queries, [2]string{"graph.php", query}) }
	sizes := []string{"small", "medium", "large", "xlarge", "xxlarge", "mobile", "default"}
	for i, report := range reports {
		ask("c=web&h=web1&z=" + sizes[i%len(sizes)] + "&g=" + report + day)
		ask("c=web&z=" + sizes[(i+1)%len(sizes)] + "&g=" + report + []string{day, "&r=hour", "&r=2hr"}[i%3])
		ask("me=Here&z=" + sizes[(i+2)%len(sizes)] + "&g=" + report + day)
	}
	const metric, hosts = "c=web&h=web1&m=load_one", "aggregate=1&hl=web1|web,web2|web&mreg[]=load_one"
	for _, more := range []string{
		"&v=0.5&vl=%20&ti=Load", "&l=e2ecff&z=small&v=1234567", "&x=100&n=0", "&jr=3600&js=" + fmt.Sprint(drawnEnd-900), "&trend=1&trendrange=2&trendhistory=1", "&r=4hr&ts=1", "&warn=40&crit=60",
		"&image_format=svg", "&verbose=1", "&event=hide", "&json=1", "&csv=1&step=120", "&flot=1", "&graphlot=1", "&live=1", "&su=1&vl=processes",
	} {
		if strings.HasPrefix(more, "&r=") {
			ask(metric + more)
			continue
		}
		ask(metric + more + day)
	}
	for _, more := range []string{"&gtype=line&lw=3", "&gtype=stack&title=Two", "&gtype=percent&vl=per%20cent", "&gtype=stack&glegend=hide&z=large", "&gtype=line&gs=log", "&gtype=stack&show_total=1&scale=8", "&gtype=line&json=1"} {
		ask(hosts + more + day)
	}
	ask("aggregate=1&hreg[]=web.&mreg[]=^load_.*&gtype=stack&sortit=true" + day)
	ask("aggregate=1&hreg[]=web.&mreg[]=^cpu_(.*)&gtype=line&lgnd_xh=true&z=xlarge" + day)
	ask("vn=all&item_id=p" + day)
	for _, query := range []string{"c=web&m=load_one", "c=web&m=load_one&vl=load&title=all", "c=web&m=load_one&host_regex=2$"} {
		queries = append(queries, [2]string{"stacked.php", query + day})
	}
	return append(queries, [2]string{"limits", "x=1" + day})
}

// TestGangliaWeb has the pages of Debian's ganglia-webfrontend draw: every report for a host, a
// cluster and the grid, single metrics with all that can be asked for, hosts together, a view,
// events, and the numbers as JSON and CSV.
func TestGangliaWeb(t *testing.T) {
	rrdtooltest.Need(t, "rrdtool", "bash")
	site := filepath.Join(drawingProgram(t, "ganglia-webfrontend"), "usr/share/ganglia-webfrontend")
	command, env := php(t)
	t.Parallel()
	metrics := gangliaMetrics(t, filepath.Join(site, "graph.d"))
	c := newCommander(t, site)
	for dir, name := range map[string]string{"conf.php": gangliaWebConf, "state/colors.json": "[]"} {
		c.write(dir, name)
	}
	api, err := os.ReadFile(filepath.Join(site, "lib/common_api.php"))
	if err != nil {
		t.Fatal(err)
	}
	// PHP 8 calls it with four arguments, and says so in every page.
	c.write("lib/common_api.php", strings.Replace(string(api), "$line, $context)", "$line, $context = null)", 1))
	recorder, err := os.ReadFile(absolute(t, "testdata/recorded_rrdtool.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{c.theirs, c.mine} {
		write(t, filepath.Join(dir, "recorded_rrdtool.sh"), string(recorder), 0o700)
	}
	c.write("state/cache", `{"cluster":{"web1":["web"],"web2":["web"]},"hosts":["web1","web2"],"metrics":{"load_one":["web1","web2"],"load_five":["web1"],"cpu_user":["web1"],"cpu_idle":["web1","web2"]}}`)
	c.write("state/events.json", fmt.Sprintf(`[{"event_id":1,"start_time":%d,"end_time":%d,"summary":"deploy","host_regex":"web1"},{"event_id":2,"start_time":%d,"end_time":null,"summary":"restart","host_regex":"web"}]`, drawnEnd-9000, drawnEnd-5000, drawnEnd-3000))
	c.write("state/view_all.json", `{"view_name":"all","items":[{"item_id":"p","title":"per cent","vertical_label":"","percent":"1","series":[{"hostname":"web1","clustername":"web","metric":"cpu_user","color":"ff0000","label":"user","type":"stack"},{"hostname":"web1","clustername":"web","metric":"cpu_idle","color":"00ff00","label":"idle","type":"stack"},{"hostname":"web1","clustername":"web","metric":"cpu_user","color":"0000ff","label":"most","type":"percentile","percentile":90}]}]}`)
	c.fill(gangliaSeries(metrics, drawnDay/2, 60))
	for _, q := range gangliaQueries(gangliaReports(t, filepath.Join(site, "graph.d"))) {
		query := strings.NewReplacer("|", url.QueryEscape("|"), "^", "%5E").Replace(q[1])
		c.show(env, append(slices.Clone(command), absolute(t, "testdata/ganglia.php"), q[0], query)...)
	}
	if graphs := c.compare(); graphs < 20 {
		t.Errorf("%d graphs", graphs)
	}
}

// graphite matches the JSON of a report that Graphite draws.
var graphite = regexp.MustCompile(`"report_type"\s*:\s*"template"`)

// gangliaReports returns the names of reports: every third, or with RONDO_PROGRAMS all. One of the
// templates of Debian's package is no JSON, and templates of the type "template" are for Graphite.
func gangliaReports(t *testing.T, folder string) (reports []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		name, kind, _ := strings.Cut(f.Name(), ".")
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_report") || kind == "json" && (!json.Valid(text) || graphite.Match(text)) || !seedtest.More() && i%3 > 0 {
			continue
		}
		reports = append(reports, name)
	}
	return slices.Compact(reports)
}
