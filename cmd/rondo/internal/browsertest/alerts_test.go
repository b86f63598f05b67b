//go:build !race

package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// alertRules has an alert that fires and names a host, with texts that would be markup, and one
// that is pending.
const alertRules = `groups:
  - name: hosts
    interval: 1s
    rules:
      - alert: HighLoad
        expr: vector(7.5) > 5
        labels: {instance: "web1:9100", severity: page, bad: "<img src=x onerror=planted=1>"}
        annotations:
          summary: web1 has a load of {{ $value }}
          description: Somebody compiles. <img src=x onerror=planted=1>
          runbook_url: https://runbooks.example/load
      - alert: Script
        expr: vector(1)
        annotations: {runbook_url: "javascript:planted=1"}
      - alert: DiskFills
        expr: vector(1) / 0
        for: 1h
`

// TestAlerts: what fires is counted in the navigation, listed, and marked on its host.
func TestAlerts(t *testing.T) {
	chromium(t) // or the test ends here
	rules := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(rules, []byte(alertRules), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, filepath.Join(work, "alerts"), "--rule-file", rules)
	s.rondo(t, "send", "collectd", "--to", s.listens["collectd"], "web1/load/load=1:2:3")
	x := newTab(t, s.url)
	x.open("/alerts")
	x.wait("the count is there", `document.getElementById('firing').innerText === '2'`)
	x.wait("three alerts are listed", `document.querySelectorAll('.alerts li').length === 3`)
	const firing = `[...document.querySelectorAll('.alerts .firing')].find(e => e.innerText.includes('HighLoad'))`
	for _, want := range []string{"7.5", "severity=page", "web1 has a load of 7.5", "Somebody compiles. <img", "vector(7.5) > 5"} {
		if read := eval[string](x, firing+".innerText"); !strings.Contains(read, want) {
			t.Errorf("one does not read %q: %s", want, read)
		}
	}
	links := eval[[]string](x, `[...document.querySelectorAll('.alerts a')].map(a => a.href)`)
	if len(links) != 1 || links[0] != "https://runbooks.example/load" {
		t.Errorf("links of runbooks: %q", links)
	}
	x.wait("the expression is drawn with its threshold", firing+`.querySelector('.alert-chart canvas') && ["7.50", "threshold", "5"].every(w => `+firing+`.querySelector('.alert-chart').innerText.includes(w))`)
	for _, at := range []size{laptop, phone} {
		x.resize(at)
		for _, scheme := range []string{"light", "dark"} {
			x.scheme(scheme)
			x.settle()
			x.keep("alerts-firing-" + at.name + "-" + scheme)
		}
		if wide := eval[int64](x, "document.documentElement.scrollWidth"); wide > at.width {
			t.Errorf("the page is %d pixels wide in a window of %d", wide, at.width)
		}
	}
	x.resize(laptop)
	x.open("/")
	x.wait("the card has a mark", `document.querySelector('.card[href$="web1"] .alert-mark')?.innerText === 'HighLoad'`)
	x.settle()
	x.keep("alerts-home")
	x.click(`.card[href$="web1"]`)
	x.wait("the host has a mark", `document.querySelector('.host-head .alert-mark')?.innerText === 'web1 has a load of 7.5'`)
	x.settle()
	x.keep("alerts-host")
	x.scripts(false)
	x.open("/alerts")
	read := eval[string](x, "document.body.innerText")
	for _, want := range []string{"firing: HighLoad", "pending: DiskFills", "https://runbooks.example/load", "javascript:planted=1"} {
		if !strings.Contains(read, want) {
			t.Errorf("without scripts one does not read %q: %s", want, read)
		}
	}
	if n := eval[int](x, `document.querySelectorAll('main a').length`); n != 1 {
		t.Errorf("%d links of runbooks without scripts", n)
	}
}
