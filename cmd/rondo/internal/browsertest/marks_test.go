//go:build !race

package browsertest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// loadRules has an alert on a chart of web1, which fires, and is about no other host.
const loadRules = `groups: [{name: hosts, interval: 1s, rules: [
  {alert: HighLoad, expr: 'avg_over_time(collectd_load_shortterm[10m]) > 3', for: 10m},
  {alert: TooBusy, expr: 'collectd_load_midterm > 90'}]}]`

// TestAlertsOnCharts: a host, a series, a dashboard, PromQL and the alert's own chart show when an
// alert fired that is about what they draw, and the number that its rule compares with.
func TestAlertsOnCharts(t *testing.T) {
	chromium(t) // or the test ends here
	db := filepath.Join(work, "marks")
	fill(t, db, func(f *filling) {
		for host, load := range map[string]float64{"web1": 4, "web2": 2} {
			f.series("collectd/"+host+"/load/load", 10, 6*3600, labels("host", host, "plugin", "load", "type", "load"),
				source{"shortterm:GAUGE:20:0:U", waves(host, load, 0.2, 0.5)}, source{"midterm:GAUGE:20:0:U", flat(load)}, source{"longterm:GAUGE:20:0:U", flat(load)})
		}
	})
	rules, ago := filepath.Join(t.TempDir(), "rules.yml"), func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339Nano) }
	state := fmt.Sprintf(`{"version":1,"saved":%q,"alerts":[{"group":%q,"rule":"HighLoad{}","value":"4",
		"labels":{"alertname":"HighLoad","instance":"web1"},"annotations":{},"state":"firing","active_at":%q,"fired_at":%q}]}`, ago(0), rules+";hosts", ago(3*time.Hour), ago(2*time.Hour))
	for file, text := range map[string]string{rules: loadRules, filepath.Join(db, "alerts.json"): state} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, db, "--rule-file", rules)
	board := "graph: Loads\n  DEF:a=collectd/web1/load/load:shortterm:AVERAGE\n  DEF:b=collectd/web2/load/load:shortterm:AVERAGE\n  LINE1:a#2264d1:one\n  LINE1:b#d16422:two\n"
	s.call(t, "SaveDashboard", map[string]any{"name": "loads", "text": board})
	s.call(t, "SaveDashboard", map[string]any{"name": "asks", "text": "graph: Loads\n  PROMQL:q=avg_over_time(collectd_load_shortterm[5m])\n  LINE1:q#2264d1:{{instance}}\n"})
	x := newTab(t, s.url)
	for _, p := range []struct {
		name, path   string
		level, fires bool
	}{
		{"host", "/host/web1?from=-6h", true, true},
		{"series", "/series/collectd/web1/load/load?from=-6h&ds=shortterm", true, true},
		{"dashboard", "/dashboard/loads?from=-6h", true, true},
		{"asking", "/dashboard/asks?from=-6h", true, true},
		{"promql", "/workbench?from=-6h&g=" + url.QueryEscape("PROMQL:q=max by (instance) (collectd_load_shortterm{instance=\"web1\"})\nLINE1:q#2264d1:q"), true, true},
		{"other promql", "/workbench?from=-6h&g=" + url.QueryEscape("PROMQL:q=collectd_load_shortterm{instance=\"web2\"}\nLINE1:q#2264d1:q"), true, false},
		{"alerts", "/alerts", false, true},
		{"other", "/host/web2?from=-6h", true, false},
	} {
		x.open(p.path)
		x.charts(1)
		eval[bool](x, catch)
		const svg = `(async () => {
			document.querySelector('.chart [aria-haspopup="menu"]').click();
			[...document.querySelectorAll('[role=menuitem]')].find(e => e.textContent === 'SVG').click();
			while (!window.files.length) await new Promise(done => setTimeout(done, 20));
			return atob(window.files.pop().Data);
		})()`
		for deadline := time.Now().Add(patience); strings.Contains(eval[string](x, svg), ">HighLoad 3") != p.level; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the number is drawn: %t", p.name, !p.level)
			}
		}
		eval[bool](x, `(document.querySelector('.chart-plot').focus(), true)`)
		x.key(kb.ArrowLeft, shift)
		x.key(kb.ArrowLeft, shift)
		x.wait(p.name+": the pointer has values", `document.querySelector('.chart-card:not([hidden])')`)
		const card = `document.querySelector('.chart-card').innerText`
		read := eval[string](x, card)
		for deadline := time.Now().Add(patience); strings.Contains(read, "HighLoad fires") != p.fires && time.Now().Before(deadline); read = eval[string](x, card) {
			x.key(kb.ArrowLeft, shift) // the marks come behind the values
			x.key(kb.ArrowRight, shift)
		}
		if p.name == "asking" && !strings.Contains(read, "HighLoad fires: web1\n") {
			t.Errorf("one cannot read which line it is about: %q", read)
		}
		if strings.Contains(read, "HighLoad fires") != p.fires || strings.Contains(read, "TooBusy") {
			t.Errorf("%s: the pointer says %q", p.name, read)
		}
		for _, scheme := range []string{"light", "dark"} {
			x.scheme(scheme)
			x.settle()
			x.keep("marks-" + p.name + "-" + scheme)
		}
	}
	x.open("/?view=cards")
	x.wait("the card has a red edge", `getComputedStyle(document.querySelector('.card[href="/host/web1"]')).borderLeftWidth === '3px' && !document.querySelector('.card.firing[href="/host/web2"]')`)
	x.settle()
	x.keep("marks-cards")
}
