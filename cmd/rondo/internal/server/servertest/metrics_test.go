package servertest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// TestMetricsAreDocumented: the page of docs names every metric that there is, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	dir := t.TempDir()
	r := start(t, server.Config{
		DB: dir, HTTP: anyPorts, Ways: fakeWays(nil),
		RRDCached: server.RRDCached{Addresses: []rrdcached.Address{{Network: "unix", Addr: filepath.Join(dir, "rrdcached.sock")}}},
	})
	post(t, r.url("/rondo.v1.Rondo/Info"), `{"path":"nosuch"}`) // counts a call
	_, page := get(t, r.url("/metrics"))
	promtool(t, page)
	text, err := os.ReadFile("../../../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var names, documented []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	// This server is no node of a cluster.
	source, err := os.ReadFile("../figures/cluster.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"(rondo_cluster_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	for _, name := range names {
		if !slices.Contains(documented, name) {
			t.Errorf("%s is not documented", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(names, name) {
			t.Errorf("%s is documented, and there is no such metric", name)
		}
	}
}

// TestMetricsTellHowLongAndHowOften: durations, calls by code, limits and the state of the
// configuration were missing.
func TestMetricsTellHowLongAndHowOften(t *testing.T) {
	betweenRecords()
	reload := make(chan server.Ways)
	r := start(t, server.Config{HTTP: anyPorts, Ways: fakeWays(nil), Reload: reload})
	send(t, r.Receivers["fake"], "one")
	eventually(t, "the sample is stored", func() bool { return metric(t, r, "rondo_samples_accepted_total") == 1 })
	post(t, r.url("/rondo.v1.Rondo/Fetch"), `{"path":"one"}`)
	post(t, r.url("/rondo.v1.Rondo/Fetch"), `{"path":"nosuch"}`)
	post(t, r.url("/rondo.v1.Rondo/Fetch"), `{"path":`)
	reload <- server.Ways{Err: os.ErrNotExist}
	eventually(t, "the mistake is reported", func() bool { return metric(t, r, "rondo_config_last_reload_successful") == 0 })
	_, page := get(t, r.url("/metrics"))
	for _, want := range []string{
		`rondo_append_seconds_count 1`, `rondo_append_seconds_bucket{le="+Inf"} 1`, `rondo_fetch_seconds_count 1`,
		`rondo_rpc_calls_total{method="Fetch",code="ok"} 1`, `rondo_rpc_calls_total{method="Fetch",code="not_found"} 1`,
		`rondo_rpc_calls_total{method="Fetch",code="unread"} 1`, `rondo_http_request_seconds_count{path="/rondo.v1.Rondo/Fetch"} 3`,
		`rondo_config_reload_failures_total 1`, `rondo_checkpoint_failures_total 0`, `rondo_series_limit 10000000`,
	} {
		if !strings.Contains(page, "\n"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if !strings.Contains(r.log.String(), "configuration not taken") {
		t.Errorf("the log does not tell the mistake:\n%s", r.log)
	}
	if metric(t, r, "rondo_memory_budget_bytes") <= 0 {
		t.Error("no budget")
	}
	taken := fakeWays(nil)
	taken.Restart = 2
	reload <- taken
	eventually(t, "the configuration is taken", func() bool { return metric(t, r, "rondo_config_last_reload_successful") == 1 })
	if n := metric(t, r, "rondo_config_restart_pending"); n != 2 {
		t.Errorf("%v settings wait for a restart, want 2", n)
	}
	if t.Failed() {
		t.Log(page)
	}
}
