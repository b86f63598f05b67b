package protocols

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/rra"
)

// TestPrometheusWriteInterop lets a real Prometheus scrape and send, kills the server, and starts it
// again. Every row is then what Prometheus' own samples give: none that was acknowledged is lost,
// and each is stored once, at its time.
func TestPrometheusWriteInterop(t *testing.T) {
	t.Parallel() // most of it is waiting
	rrdtooltest.Need(t, "prometheus")
	var scrapes atomic.Int64
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := scrapes.Add(1)
		_, _ = fmt.Fprintf(w, "# HELP rw_total A counter.\n# TYPE rw_total counter\nrw_total %v\n# TYPE rw_level gauge\nrw_level{kind=\"a/b\"} %v\n",
			float64(n%7)*1.5, math.Sqrt(float64(n)))
	}))
	t.Cleanup(exporter.Close)
	db := filepath.Join(t.TempDir(), "db")
	args := []string{"--remotewrite-step", "1", "--remotewrite-round", "never"}
	d := rondotest.Serve(t, db, args...)
	instance := strings.TrimPrefix(exporter.URL, "http://")
	p := sendingPrometheus(t, instance, d.URL+"/api/v1/write")
	scraped := func(more int64) {
		t.Helper()
		for want := scrapes.Load() + more; scrapes.Load() < want; time.Sleep(10 * time.Millisecond) {
			if t.Context().Err() != nil || p.Ended() {
				t.Fatal("Prometheus does not scrape")
			}
		}
	}
	scraped(1)
	rondotest.WaitFor(t, "samples", func() bool { return strings.Contains(d.Call(t, "List", `{"prefix":"prometheus/rw"}`), "rw_total") })
	before := int(scrapes.Load()) // what was scraped until something arrived may not have been sent
	scraped(2)
	addr := strings.TrimPrefix(d.URL, "http://")
	d.Kill(t)
	scraped(2)
	d = rondotest.Serve(t, db, append(args, "--http", addr)...)
	scraped(3)
	total, level := samplesOf(t, p.URL, "rw_total"), samplesOf(t, p.URL, "rw_level")
	// A Prometheus that ends may leave out the sample of a moment ago.
	rondotest.WaitFor(t, "the last samples", func() bool { return sentUpTo(t, d, total) && sentUpTo(t, d, level) })
	p.Stop()
	compareRows(t, d, "prometheus/rw/"+instance+"/rw_total", total, before, rra.DataSource{Name: "value", Kind: rra.DDerive, Heartbeat: 3, Min: 0, Max: math.NaN()})
	var path struct {
		Series []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(d.Call(t, "List", `{"matchers":[{"name":"__name__","value":"rw_level"},{"name":"kind","value":"a/b"}]}`)), &path); err != nil || len(path.Series) != 1 {
		t.Fatalf("%v %v", path, err)
	}
	compareRows(t, d, path.Series[0].Path, level, before, rra.DataSource{Name: "value", Kind: rra.Gauge, Heartbeat: 3, Min: math.NaN(), Max: math.NaN()})
	if m := d.Call(t, "Metadata", `{"prefix":"prometheus/rw"}`); !strings.Contains(m, "A counter.") {
		t.Errorf("the help is not kept: %s", m)
	}
	d.Stop(t)
}

// TestBesidePrometheusInterop: what a Prometheus sends is listed as it lists it itself: its series,
// values of labels, metadata, and how many series each name has.
func TestBesidePrometheusInterop(t *testing.T) {
	t.Parallel() // most of it is waiting
	rrdtooltest.Need(t, "prometheus")
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `# HELP rw_total A counter, with \\ and \n.
# TYPE rw_total counter
rw_total{code="200"} 7
rw_total{code="500"} 1
# HELP rw_level A gauge.
# TYPE rw_level gauge
rw_level{kind="a/b",text="line\nbreak"} 2.5
rw_level{kind="µ"} 3
# TYPE rw_seconds histogram
rw_seconds_bucket{le="0.5"} 3
rw_seconds_bucket{le="+Inf"} 4
rw_seconds_sum 1.25
rw_seconds_count 4
# TYPE rw_gc summary
rw_gc{quantile="0.9"} 0.25
rw_gc_sum 2
rw_gc_count 8
rw_untyped 1
`)
	}))
	t.Cleanup(exporter.Close)
	d := rondotest.Serve(t, filepath.Join(t.TempDir(), "db"))
	p := sendingPrometheus(t, strings.TrimPrefix(exporter.URL, "http://"), d.URL+"/api/v1/write")
	rondotest.WaitFor(t, "a scrape", func() bool { return strings.Contains(listed(t, p.URL, "label/code/values"), "500") })
	for _, path := range []string{
		`series?match[]={job="rw"}`, `labels?match[]={job="rw"}`, `label/__name__/values?match[]={job="rw"}`, `label/code/values`, `label/kind/values`,
		`label/text/values`, `label/le/values?match[]={job="rw"}`, `metadata?metric=rw_total`, `metadata?metric=rw_level`, `metadata?metric=rw_seconds`,
		`metadata?metric=rw_gc`, `metadata?metric=rw_untyped`, `query?query=count+by(__name__)({job="rw"})`, `query?query=count({job="rw"})`,
	} {
		var got, want string
		deadline := time.Now().Add(rondotest.Patience)
		for got, want = "", "-"; got != want && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			got, want = listed(t, d.URL, path), listed(t, p.URL, path)
		}
		if got != want {
			t.Errorf("%s:\n%s\nPrometheus answers\n%s", path, got, want)
		}
	}
}

// listed returns the data of an answer of Prometheus' API, in order and without times.
func listed(t *testing.T, server, path string) string {
	t.Helper()
	name, query, _ := strings.Cut(path, "?")
	r, err := http.Get(server + "/api/v1/" + name + "?" + strings.NewReplacer("{", "%7B", "}", "%7D", "[", "%5B", "]", "%5D", `"`, "%22").Replace(query))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it has been read
	var answer struct{ Data any }
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %s: %v", path, r.Status, err)
	}
	list, ok := answer.Data.([]any)
	if all, isMap := answer.Data.(map[string]any); isMap && all["result"] != nil {
		list, ok = all["result"].([]any)
	}
	if !ok {
		return fmt.Sprint(answer.Data)
	}
	var lines []string
	for _, x := range list {
		if m, ok := x.(map[string]any); ok && m["value"] != nil {
			m["value"] = m["value"].([]any)[1]
		}
		lines = append(lines, fmt.Sprintf("%q", fmt.Sprint(x)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// sentUpTo says whether all series of Prometheus' metrics have been updated at the last of points,
// or later.
func sentUpTo(t *testing.T, d *rondotest.Daemon, points []promSample) bool {
	t.Helper()
	var got struct {
		Series []struct{ LastUpdateUs string }
	}
	text := d.Call(t, "Latest", `{"prefix":"prometheus/rw","rows":1}`)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, s := range got.Series {
		if us, err := strconv.ParseInt(s.LastUpdateUs, 10, 64); err != nil || rra.Time(us) < points[len(points)-1].at {
			return false
		}
	}
	return len(got.Series) > 0
}

// sendingPrometheus runs a Prometheus that scrapes a target each second and sends to the address
// write.
func sendingPrometheus(t *testing.T, target, write string) *rrdtooltest.Prometheus {
	t.Helper()
	return rrdtooltest.RunPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs: [{job_name: rw, static_configs: [{targets: [%q]}]}]
remote_write:
  - url: %s
    queue_config: {batch_send_deadline: 100ms, min_backoff: 30ms, max_backoff: 100ms}
    metadata_config: {send: true, send_interval: 500ms}
`, target, write), t.TempDir())
}

// A promSample is a sample as Prometheus has it.
type promSample struct {
	at    rra.Time
	value float64
}

// samplesOf returns all samples that a Prometheus has of a series.
func samplesOf(t *testing.T, server, name string) (points []promSample) {
	t.Helper()
	r, err := http.Get(server + "/api/v1/query?query=" + url.QueryEscape(name+"[1h]"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it has been read
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Data.Result) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	for _, v := range answer.Data.Result[0].Values {
		value, err := strconv.ParseFloat(v[1].(string), 64)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, promSample{rra.Time(math.Round(v[0].(float64)*1000)) * 1000, value})
	}
	return points
}

// compareRows compares the rows of a series with those that points give in a series of this data
// source. Prometheus begins to send a moment after it has begun to scrape, so up to late points at
// the beginning may be missing.
func compareRows(t *testing.T, d *rondotest.Daemon, path string, points []promSample, late int, source rra.DataSource) {
	t.Helper()
	if len(points) < 6 {
		t.Fatalf("%s: Prometheus has only %d samples", path, len(points))
	}
	from, to := points[0].at.Unix()-2, points[len(points)-1].at.Unix()
	var got struct {
		Start   string
		Columns []struct{ Values []any }
	}
	text := d.Call(t, "Fetch", fmt.Sprintf(`{"path":%q,"start":"%d","end":"%d","resolution":1}`, path, from, to-1))
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Start != fmt.Sprint(from) || len(got.Columns) != 1 {
		t.Fatalf("%s: %s: %v", path, text, err)
	}
	var rows []float64
	for _, v := range got.Columns[0].Values {
		f, ok := v.(float64)
		if !ok {
			f = math.NaN()
		}
		rows = append(rows, f)
	}
	if int64(len(rows)) < to-from {
		t.Fatalf("%s: %d rows, want %d", path, len(rows), to-from)
	}
	var wants [][]float64
	for skip := range min(late+1, len(points)-1) {
		want := rowsOf(t, points[skip:], source, from, to)
		if fmt.Sprint(want) == fmt.Sprint(rows[:len(want)]) {
			return
		}
		wants = append(wants, want)
	}
	t.Errorf("%s: the rows after %d are\n%v\nand Prometheus' samples %v give\n%v", path, from, rows, points, wants)
}

// rowsOf returns the rows of a second that end in (from, to].
func rowsOf(t *testing.T, points []promSample, source rra.DataSource, from, to int64) []float64 {
	t.Helper()
	m, err := rra.Compile(&rra.Definition{
		Step: 1, Sources: []rra.DataSource{source},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0.1, PDPs: 1, Rows: 1200}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]float64, to-from)
	for i := range rows {
		rows[i] = math.NaN()
	}
	state := m.NewState(rra.Seconds(points[0].at.Unix() - 1))
	step := func(at rra.Time, v float64) {
		runs, err := m.Step(&state, at, []rra.Value{rra.Float(v)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Rows(runs) {
			if i := r.End.Unix() - from - 1; i >= 0 && i < int64(len(rows)) {
				rows[i] = r.Values[0]
			}
		}
	}
	for i, p := range points {
		if i > 0 && source.Kind == rra.DDerive && p.value < points[i-1].value {
			step(points[i-1].at+1, 0) // it has begun again
		}
		step(p.at, p.value)
	}
	return rows
}
