package chaos

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/rra"
)

// peers are real programs that send all the time: a collectd, which does not wait for answers, and a
// Prometheus, which sends again what was not acknowledged.
type peers struct {
	prometheus *rrdtooltest.Prometheus
	series     string // of Prometheus
}

// The series that are looked at.
const (
	collectdSeries = "collectd/chaos/load/load"
	scraped        = "scraped_total"
)

// startPeers starts the programs that are installed.
func (h *harness) startPeers() *peers {
	p := new(peers)
	if installed(h, "collectd") {
		h.startCollectd()
	}
	if installed(h, "prometheus") {
		h.startPrometheus(p)
	}
	return p
}

func installed(h *harness, name string) bool {
	_, err := exec.LookPath(name)
	if err != nil && rrdtooltest.Required() {
		h.t.Fatal(err)
	}
	return err == nil
}

func (h *harness) startCollectd() {
	dir := h.t.TempDir()
	host, port, _ := strings.Cut(h.c.Collectd[1], ":")
	file := filepath.Join(dir, "collectd.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, `
Hostname "chaos"
FQDNLookup false
BaseDir %q
PIDFile %q
Interval 1
LoadPlugin load
LoadPlugin cpu
LoadPlugin memory
LoadPlugin network
<Plugin network>
	<Server %q %q>
	</Server>
</Plugin>
`, dir, filepath.Join(dir, "pid"), host, port), 0o600); err != nil {
		h.t.Fatal(err)
	}
	rrdtooltest.Run(h.t, exec.Command("collectd", "-f", "-C", file))
}

// startPrometheus lets a Prometheus scrape a counter each second and send it to a node.
func (h *harness) startPrometheus(p *peers) {
	var n atomic.Int64
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i := n.Add(1)
		_, _ = fmt.Fprintf(w, "# TYPE %s counter\n%[1]s %d\n", scraped, i*i)
	}))
	h.t.Cleanup(exporter.Close)
	target := strings.TrimPrefix(exporter.URL, "http://")
	p.series = "prometheus/peer/" + target + "/" + scraped
	p.prometheus = rrdtooltest.RunPrometheus(h.t, fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs: [{job_name: peer, static_configs: [{targets: [%q]}]}]
remote_write:
  - url: %s/api/v1/write
    remote_timeout: 20s
    queue_config: {batch_send_deadline: 100ms, min_backoff: 30ms, max_backoff: 1s}
`, target, h.c.HTTP[2]), h.t.TempDir())
	for deadline := time.Now().Add(giveUp); !strings.Contains(h.ask(0, "list"), p.series); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatal("Prometheus sends nothing")
		}
	}
}

// compare looks whether the samples of the real programs are in all replicas, and whether all that
// Prometheus has was stored once. They go on sending, so rows of the time before now are compared.
func (p *peers) compare(h *harness) {
	h.t.Helper()
	end := time.Now().Unix() - 5
	if installed(h, "collectd") {
		text := h.same("fetch", collectdSeries, "AVERAGE", "--start", fmt.Sprint(end-300), "--end", fmt.Sprint(end))
		if !strings.Contains(text, "e+") && !strings.Contains(text, "e-") {
			h.t.Errorf("no sample of collectd was stored:\n%s", text)
		}
	}
	if p.prometheus == nil {
		return
	}
	points := p.samples(h)
	if len(points) < 10 {
		h.t.Fatalf("Prometheus has only %d samples", len(points))
	}
	// It sends what it has scraped before end, and goes on.
	points = points[:len(points)-5]
	last := points[len(points)-1].at
	for deadline := time.Now().Add(giveUp); ; time.Sleep(500 * time.Millisecond) {
		at, err := strconv.ParseFloat(strings.TrimSpace(h.ask(0, "last", p.series)), 64)
		if err == nil && rra.Seconds(int64(at)) > last {
			break
		}
		if time.Now().After(deadline) {
			h.t.Errorf("Prometheus has a sample of %d and has sent up to %v", last.Unix(), at)
			return
		}
	}
	from := points[0].at.Unix() + 10 // the first samples may not have been sent
	to := last.Unix() - 1
	want := rowsOf(h, points, from, to)
	text := h.same("fetch", p.series, "AVERAGE", "--start", fmt.Sprint(from), "--end", fmt.Sprint(to-1))
	wrong := 0
	for line := range strings.Lines(text) {
		at, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil || n <= from || n > to {
			continue
		}
		if v := fmt.Sprintf("%.10e", want[n]); v != value && wrong < 5 {
			wrong++
			h.t.Errorf("%s: the row of %d is %s, and Prometheus' samples give %s", p.series, n, value, v)
		}
	}
}

// A point is a sample as Prometheus has it.
type point struct {
	at    rra.Time
	value float64
}

// samples returns what Prometheus has scraped in the last hour.
func (p *peers) samples(h *harness) (points []point) {
	r, err := http.Get(p.prometheus.URL + "/api/v1/query?query=" + url.QueryEscape(scraped+"[1h]"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it was read
	var answer struct {
		Data struct{ Result []struct{ Values [][2]any } }
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || len(answer.Data.Result) != 1 {
		h.t.Fatalf("Prometheus: %v, %d series", err, len(answer.Data.Result))
	}
	for _, v := range answer.Data.Result[0].Values {
		at, ok1 := v[0].(float64)
		text, ok2 := v[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if !ok1 || !ok2 || err != nil {
			h.t.Fatalf("Prometheus: a sample is %v", v)
		}
		points = append(points, point{rra.Time(math.Round(at*1000)) * 1000, value})
	}
	return points
}

// rowsOf returns the rows of a second that end in (from, to], by their ends.
func rowsOf(h *harness, points []point, from, to int64) map[int64]float64 {
	m, err := rra.Compile(&rra.Definition{
		Step:     1,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.DDerive, Heartbeat: 86400, Min: 0, Max: math.NaN()}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0, PDPs: 1, Rows: 1200}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	rows := make(map[int64]float64)
	for n := from + 1; n <= to; n++ {
		rows[n] = math.NaN()
	}
	state := m.NewState(rra.Seconds(points[0].at.Unix() - 1))
	for _, p := range points {
		runs, err := m.Step(&state, p.at, []rra.Value{rra.Float(p.value)}, nil, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, r := range m.Rows(runs) {
			rows[r.End.Unix()] = r.Values[0]
		}
	}
	return rows
}
