package protocols

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestSendersAnswerPromQL: what telegraf and OpenTelemetry send to the HTTP port is stored at once,
// and PromQL answers it by the names that Prometheus would give.
func TestSendersAnswerPromQL(t *testing.T) {
	t.Parallel() // most of it is waiting
	d := rondotest.Serve(t, filepath.Join(t.TempDir(), "rondo.db"), "--otlp-step", "10s")
	const points = 60
	end := time.Now().Unix() / 10 * 10
	var lines strings.Builder
	sum := `{"name":"%s","sum":{"isMonotonic":true,"aggregationTemporality":%d,"dataPoints":[{"startTimeUnixNano":"%d000000000","timeUnixNano":"%d000000000","asInt":"%d"}]}}`
	for i := range points {
		at := end - int64(10*(points-1-i))
		fmt.Fprintf(&lines, "cpu,host=web1 usage_idle=%d.5 %d\n", 7, at)
		d.Post(t, "/v1/metrics", "application/json", `{"resourceMetrics":[{
			"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"os.type","value":{"stringValue":"linux"}},{"key":"motd","value":{"stringValue":"line\nbreak"}}]},
			"scopeMetrics":[{"metrics":[`+
			fmt.Sprintf(sum, "http.requests", 2, 1000, at, 1000+20*i)+","+fmt.Sprintf(sum, "orders", 1, at-10, at, 5)+`]}]}]}`)
	}
	d.Post(t, "/write?db=house&precision=s", "text/plain", lines.String())
	for expr, want := range map[string]string{
		"cpu_usage_idle": `map[{"__name__":"cpu_usage_idle","db":"house","host":"web1"}:7.5]`,
		"round(rate(http_requests_total[5m]), 0.001)":                 `map[{"job":"shop"}:2]`,
		`round(rate(orders_total{job="shop"}[5m]), 0.001)`:            `map[{"job":"shop"}:0.5]`,
		"count(target_info{os_type=\"linux\",motd=\"line\\nbreak\"})": `map[{}:1]`,
		`count({job="shop"})`:                                         `map[{}:3]`, // two counters and target_info: stored rates are not counted
		"round(increase(http_requests_total[1m]), 0.001)":             `map[{"job":"shop"}:120]`,
		`count(cpu_usage_idle{host!="web1"})`:                         `map[]`,
		`count(cpu_usage_idle{db=~"ho(us|t)e"})`:                      `map[{}:1]`,
	} {
		if got := fmt.Sprint(queried(t, d, expr, end)); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}

// TestSlowSenders: senders that were slower than the step of new series stored unknown rows only,
// and nobody said so.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	const points = 12
	end := time.Now().Unix() / 300 * 300
	db := filepath.Join(t.TempDir(), "rondo.db")
	d := rondotest.Serve(t, db, "--graphite", "127.0.0.1:0", "--collectd", "127.0.0.1:0")
	line, err := net.Dial("tcp", d.Listens["graphite"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = line.Close() }()
	steps := []int64{10, 60, 300}
	for i := range int64(points) {
		for _, step := range steps {
			at := end - step*(points-1-i)
			d.Post(t, "/write?precision=s", "text/plain", fmt.Sprintf("m%d,host=a value=%d %d\n", step, i, at))
			d.Post(t, "/v1/metrics", "application/json", fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name",
				"value":{"stringValue":"job%d"}}]},"scopeMetrics":[{"metrics":[{"name":"g","gauge":{"dataPoints":[{"timeUnixNano":"%d000000000","asInt":"%d"}]}}]}]}]}`, step, at, i))
			written := prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{
				Labels:  []prompb.Label{{Name: "__name__", Value: "g"}, {Name: "job", Value: fmt.Sprint("job", step)}},
				Samples: []prompb.Sample{{Timestamp: at * 1000, Value: float64(i)}},
			}}}
			body, err := written.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			d.Post(t, "/api/v1/write", "application/x-protobuf", string(snappy.Encode(nil, body)))
			rondotest.Run(t, db, "send", "collectd", "--to", d.Listens["collectd"], "--at", fmt.Sprint(at), "--interval", fmt.Sprint(step, "s"), fmt.Sprintf("h%d/users/users=%d", step, i))
			if _, err := fmt.Fprintf(line, "slow.m%d %d %d\n", step, i, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range steps {
		for _, path := range []string{
			fmt.Sprintf("influx/m%d/host=a/value", step), fmt.Sprintf("graphite/slow/m%d", step), fmt.Sprintf("otlp/job%d/-/g", step),
			fmt.Sprintf("prometheus/job%d/-/g", step), fmt.Sprintf("collectd/h%d/users/users", step),
		} {
			rondotest.WaitFor(t, path, func() bool {
				rows := d.Call(t, "Fetch", fmt.Sprintf(`{"path":%q,"cf":"AVERAGE","start":"%d","end":"%d"}`, path, end-step*(points-1), end))
				return strings.Contains(rows, fmt.Sprintf(`"step":"%d"`, step)) && strings.Count(rows, "NaN") <= 2
			})
		}
	}
}

// TestFirstSample: one value of a sender that says nothing of its step can be seen at once, and a
// series whose samples come too far apart says what mends it.
func TestFirstSample(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "rondo.db")
	d := rondotest.Serve(t, db, "--graphite", "127.0.0.1:0", "--influx-step", "10")
	line, err := net.Dial("tcp", d.Listens["graphite"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = line.Close() }()
	now := time.Now().Unix()
	if _, err := fmt.Fprintf(line, "den.temp 22.5 %d\n", now); err != nil {
		t.Fatal(err)
	}
	d.Post(t, "/write?precision=s", "text/plain", fmt.Sprintf("room,host=a temp=21.5 %d\n", now))
	d.Post(t, "/v1/metrics", "application/json", fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
		"scopeMetrics":[{"metrics":[{"name":"g","gauge":{"dataPoints":[{"timeUnixNano":"%d123000000","asDouble":23.5}]}}]}]}]}`, now))
	for path, value := range map[string]string{"graphite/den/temp": "22.5", "influx/room/host=a/temp": "21.5", "otlp/shop/-/g": "23.5"} {
		rondotest.WaitFor(t, path, func() bool {
			rows := d.Call(t, "FetchMany", fmt.Sprintf(`{"select":[{"path":%q,"cf":"AVERAGE"}],"start":"%d","end":"%d","maxPoints":300}`, path, now-86400, now))
			return strings.Contains(rows, value)
		})
	}
	for i := range int64(10) {
		d.Post(t, "/write?precision=s", "text/plain", fmt.Sprintf("slow,host=a v=%d %d\n", i, now-3000+300*i))
	}
	if out, want := rondotest.Run(t, db, "show", "influx/slow/host=a/v"), "rondo tune influx/slow/host=a/v -h value:1200"; !strings.Contains(out, want) {
		t.Errorf("%s\nwant %s", out, want)
	}
	rondotest.Run(t, db, "tune", "influx/slow/host=a/v", "-h", "value:1200")
	if out := rondotest.Run(t, db, "show", "influx/slow/host=a/v"); strings.Contains(out, "rondo tune") {
		t.Errorf("it was mended: %s", out)
	}
}

// queried returns the values of an instant query, by their labels.
func queried(t *testing.T, d *rondotest.Daemon, expr string, at int64) map[string]string {
	t.Helper()
	r, err := http.Get(d.URL + "/api/v1/query?" + url.Values{"query": {expr}, "time": {fmt.Sprint(at)}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it has been read
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %s, %v", expr, r.Status, err)
	}
	values := make(map[string]string)
	for _, x := range answer.Data.Result {
		labels, err := json.Marshal(x.Metric)
		if err != nil {
			t.Fatal(err)
		}
		values[string(labels)] = fmt.Sprint(x.Value[1])
	}
	return values
}
