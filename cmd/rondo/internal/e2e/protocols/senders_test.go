package protocols

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestSendersAnswerPromQL: what telegraf and OpenTelemetry send to the HTTP port is stored at once,
// and PromQL answers it by the names that Prometheus would give.
func TestSendersAnswerPromQL(t *testing.T) {
	d := rondotest.Serve(t, filepath.Join(t.TempDir(), "rondo.db"), "--otlp-step", "10s")
	const points = 60
	end := time.Now().Unix() / 10 * 10
	var lines strings.Builder
	sum := `{"name":"%s","sum":{"isMonotonic":true,"aggregationTemporality":%d,"dataPoints":[{"startTimeUnixNano":"%d000000000","timeUnixNano":"%d000000000","asInt":"%d"}]}}`
	for i := range points {
		at := end - int64(10*(points-1-i))
		fmt.Fprintf(&lines, "cpu,host=web1 usage_idle=%d.5 %d\n", 7, at)
		d.Post(t, "/v1/metrics", "application/json", `{"resourceMetrics":[{
			"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"os.type","value":{"stringValue":"linux"}}]},
			"scopeMetrics":[{"metrics":[`+
			fmt.Sprintf(sum, "http.requests", 2, 1000, at, 1000+20*i)+","+fmt.Sprintf(sum, "orders", 1, at-10, at, 5)+`]}]}]}`)
	}
	d.Post(t, "/write?db=house&precision=s", "text/plain", lines.String())
	for expr, want := range map[string]string{
		"cpu_usage_idle": `map[{"__name__":"cpu_usage_idle","db":"house","host":"web1"}:7.5]`,
		"round(rate(http_requests_total[5m]), 0.001)":      `map[{"job":"shop"}:2]`,
		`round(rate(orders_total{job="shop"}[5m]), 0.001)`: `map[{"job":"shop"}:0.5]`,
		"count(target_info{os_type=\"linux\"})":            `map[{}:1]`,
		"round(increase(http_requests_total[1m]), 0.001)":  `map[{"job":"shop"}:120]`,
		`count(cpu_usage_idle{host!="web1"})`:              `map[]`,
		`count(cpu_usage_idle{db=~"ho(us|t)e"})`:           `map[{}:1]`,
	} {
		if got := fmt.Sprint(d.Query(t, expr, end)); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}
