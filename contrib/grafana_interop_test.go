//go:build !race

package contrib_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// A dashboard is what the tests read of a dashboard of Grafana.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		Title   string
		Targets []struct{ Expr, RefID string }
	}
	Templating struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
		}
	}
}

func readDashboard(t *testing.T, name string) dashboard {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("grafana", name))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// ask asks a server of Prometheus' API at base and returns how many results the answer has.
func ask(t *testing.T, base, path string, args url.Values) (results int) {
	t.Helper()
	r, err := http.Get(base + path + "?" + args.Encode())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err = errorsOf(err, r.Body.Close()); err != nil {
		t.Fatal(err)
	}
	var a struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Status != "success" {
		t.Errorf("%s %s: %.300s (%v)", path, args, body, err)
		return 0
	}
	var list []json.RawMessage
	if json.Unmarshal(a.Data, &list) == nil {
		return len(list)
	}
	var q struct{ Result []json.RawMessage }
	if err := json.Unmarshal(a.Data, &q); err != nil {
		t.Errorf("%s %s: %.300s", path, args, body)
	}
	return len(q.Result)
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// labelValues matches the query of a variable: label_values(SELECTOR, LABEL).
var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// run asks every query of a dashboard, with values for its variables, and returns the panels whose
// queries all have no result.
func (d dashboard) run(t *testing.T, base string, values map[string]string) (empty []string) {
	t.Helper()
	replace := []string{"$__rate_interval", "30s"}
	for name, v := range values {
		replace = append(replace, "$"+name, v)
	}
	fill := strings.NewReplacer(replace...)
	for _, v := range d.Templating.List {
		var query struct{ Query string }
		if v.Type != "query" {
			continue
		}
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Errorf("variable %s: %v", v.Name, err)
		}
		m := labelValues.FindStringSubmatch(query.Query)
		if m == nil {
			t.Errorf("variable %s: %s", v.Name, query.Query)
			continue
		}
		if n := ask(t, base, "/api/v1/label/"+m[2]+"/values", url.Values{"match[]": {fill.Replace(m[1])}}); n == 0 {
			t.Errorf("variable %s has no values", v.Name)
		}
	}
	now := time.Now().Unix()
	for _, p := range d.Panels {
		n := 0
		for _, q := range p.Targets {
			expr := fill.Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: %s has a variable without a value", p.Title, expr)
			}
			n += ask(t, base, "/api/v1/query_range", url.Values{
				"query": {expr}, "start": {strconv.FormatInt(now-60, 10)}, "end": {strconv.FormatInt(now, 10)}, "step": {"1"},
			})
		}
		if len(p.Targets) == 0 || n == 0 {
			empty = append(empty, p.Title)
		}
	}
	return empty
}

// addressIn returns the address of a listener, from the server's log.
func addressIn(t *testing.T, log, what string) string {
	t.Helper()
	m := regexp.MustCompile(`msg=listening for=` + what + ` .*addr=(\S+)`).FindStringSubmatch(log)
	if m == nil {
		t.Fatalf("no %s in\n%s", what, log)
	}
	return m[1]
}

// TestDashboardsOfHosts: real agents send to rondo, and every query of the dashboards of hosts has
// an answer.
func TestDashboardsOfHosts(t *testing.T) {
	collectd, gmetric := rrdtooltest.Peer(t, "collectd"), rrdtooltest.Peer(t, "gmetric")
	dir := t.TempDir()
	log := serve(t, dir, "--http", "127.0.0.1:0", "--collectd", "127.0.0.1:0", "--gmetric", "127.0.0.1:0", "--gmetric-step", "1")
	base := "http://" + addressIn(t, log, "http")
	runCollectd(t, collectd, dir, addressIn(t, log, "collectd"))
	runGmetric(t, gmetric, dir, addressIn(t, log, "gmetric"))
	d, g := readDashboard(t, "collectd-host.json"), readDashboard(t, "ganglia-host.json")
	instance := func(metric string) string {
		return valueOf(t, base, metric)
	}
	var empty []string
	waitFor(t, "collectd's rates", func() bool {
		return ask(t, base, "/api/v1/query", url.Values{"query": {"rate(collectd_cpu_total[10s])"}}) > 0 && ask(t, base, "/api/v1/query", url.Values{"query": {"ganglia_disk_free"}}) > 0
	})
	empty = d.run(t, base, map[string]string{"instance": instance("collectd_load_shortterm")})
	// A container may have no disk and no swap of its own, and nobody logged in.
	empty = slices.DeleteFunc(empty, func(p string) bool {
		return slices.Contains([]string{"Swap", "Disks", "Disk operations", "Users", "File systems"}, p)
	})
	if len(empty) > 0 {
		t.Errorf("%s: no data for %q", d.Title, empty)
	}
	empty = g.run(t, base, map[string]string{"instance": instance("ganglia_load_one")})
	if len(empty) > 0 {
		t.Errorf("%s: no data for %q", g.Title, empty)
	}
}

// valueOf returns the label instance of the first series of a metric.
func valueOf(t *testing.T, base, metric string) (value string) {
	t.Helper()
	waitFor(t, metric, func() bool {
		r, err := http.Get(base + "/api/v1/series?match[]=" + metric)
		if err != nil {
			return false
		}
		var a struct{ Data []struct{ Instance string } }
		err = json.NewDecoder(r.Body).Decode(&a)
		if err = errorsOf(err, r.Body.Close()); err != nil || len(a.Data) == 0 {
			return false
		}
		value = a.Data[0].Instance
		return true
	})
	return value
}

// runCollectd runs collectd, which sends to addr every second, until the test ends.
func runCollectd(t *testing.T, collectd, dir, addr string) {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	var conf strings.Builder
	conf.WriteString(fmt.Sprintf("Hostname \"web1\"\nInterval 1\nBaseDir %q\nPIDFile %q\n", dir, filepath.Join(dir, "collectd.pid")))
	for _, p := range []string{"cpu", "memory", "swap", "load", "df", "disk", "interface", "processes", "users", "uptime"} {
		conf.WriteString("LoadPlugin " + p + "\n")
	}
	conf.WriteString(fmt.Sprintf("LoadPlugin network\n<Plugin network>\n  Server %q %q\n</Plugin>\n", host, port))
	file := filepath.Join(dir, "collectd.conf")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(collectd, "-f", "-C", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // likewise
	})
}

// runGmetric sends what gmond sends, three times, no faster than one a second.
func runGmetric(t *testing.T, gmetric, dir, addr string) {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	conf := filepath.Join(dir, "gmond.conf")
	text := fmt.Sprintf("globals { override_hostname = \"db1\" }\ncluster { name = \"lab\" }\nudp_send_channel { host = %s\n port = %s }\n", host, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	names := strings.Fields("load_one load_five load_fifteen cpu_num proc_run proc_total cpu_user cpu_nice cpu_system cpu_wio cpu_idle mem_total mem_free mem_cached mem_buffers " +
		"swap_total swap_free bytes_in bytes_out pkts_in pkts_out disk_total disk_free part_max_used")
	for range 3 {
		again := time.After(time.Second)
		for i, name := range names {
			args := []string{"-c", conf, "-n", name, "-v", strconv.Itoa(10 + i), "-t", "float", "-x", "20", "-d", "0"}
			if out, err := exec.Command(gmetric, args...).CombinedOutput(); err != nil {
				t.Fatalf("gmetric: %v\n%s", err, out)
			}
		}
		<-again
	}
}

// TestDashboardOfRondo: a real Prometheus scrapes rondo, and every query of its dashboard has an
// answer there. Rondo itself answers the queries about figures that it records.
func TestDashboardOfRondo(t *testing.T) {
	rrdtooltest.Need(t, "prometheus")
	dir := t.TempDir()
	log := serve(t, dir, "--http", "127.0.0.1:0", "--collectd", "127.0.0.1:0", "--gmetric", "")
	addr := addressIn(t, log, "http")
	base := rrdtooltest.RunPrometheus(t, fmt.Sprintf("global: {scrape_interval: 1s}\nrule_files: [%q]\nscrape_configs: [{job_name: rondo, static_configs: [{targets: [%q]}]}]\n",
		absolute(t, "prometheus/rondo.rules.yml"), addr), filepath.Join(dir, "tsdb")).URL
	d := readDashboard(t, "rondo.json")
	waitFor(t, "scrapes", func() bool {
		return ask(t, base, "/api/v1/query", url.Values{"query": {"count_over_time(rondo_samples_accepted_total[1m]) > 5 and rondo_samples_accepted_total > 0"}}) > 0
	})
	if empty := d.run(t, base, map[string]string{"job": "rondo"}); len(empty) > 0 {
		t.Errorf("Prometheus has no data for %q", empty)
	}
	own := "http://" + addr
	waitFor(t, "own figures", func() bool {
		return ask(t, own, "/api/v1/query", url.Values{"query": {"rondo_series"}}) > 0
	})
	d.run(t, own, map[string]string{"job": "rondo"})
}

// TestAlertRules: promtool finds the rules right and lets them fire as their test says. Each has a
// test.
func TestAlertRules(t *testing.T) {
	promtool := rrdtooltest.Peer(t, "promtool")
	if out, err := exec.Command(promtool, "check", "rules", "prometheus/rondo.rules.yml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(promtool, "test", "rules", "prometheus/rondo.test.yml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rules, err := os.ReadFile("prometheus/rondo.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("prometheus/rondo.test.yml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`alert: (\w+)`).FindAllSubmatch(rules, -1)
	for _, m := range found {
		if !strings.Contains(string(tests), "alertname: "+string(m[1])+"\n        exp_alerts") {
			t.Errorf("%s has no test in which it fires", m[1])
		}
	}
	if len(found) == 0 {
		t.Error("no rules")
	}
}

// TestMetricsOfRulesExist: rules and dashboards name metrics that rondo has.
func TestMetricsOfRulesExist(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prometheus/rondo.rules.yml", "grafana/rondo.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\b(rondo|process|go)_\w+`).FindAllString(string(text), -1) {
			if m = strings.TrimSuffix(m, "_bucket"); !strings.Contains(string(page), "`"+m+"`") {
				t.Errorf("%s names %s, which docs/metrics.md does not", name, m)
			}
		}
	}
}
