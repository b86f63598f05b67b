//go:build !race

package browsertest

import (
	"strconv"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// menu opens the menu of the first chart with a title, and takes an entry.
func (x *tab) menu(title, entry string) {
	x.t.Helper()
	x.click(`button[aria-label=` + quote("Save as: "+title) + `]`)
	x.wait("the menu is open", `document.querySelector('.menu')`)
	x.clickText(entry)
}

// TestOneDashboardForAllHosts adds the chart of a host to a new dashboard, for every host; another
// host is chosen; then PromQL is on it.
func TestOneDashboardForAllHosts(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/host/collectd/web01?f=load")
	x.charts(1)
	x.menu("Load", "Add to dashboard")
	x.wait("a dialog is open", `document.querySelector('dialog[open] .save-every')`)
	x.click("dialog[open] input[type=checkbox]")
	x.keep("add-to-dashboard")
	if names := eval[int](x, `document.querySelectorAll('dialog[open] select option').length`); names > 0 {
		t.Logf("%d dashboards are there", names-1)
	}
	x.click("dialog[open] input[required]")
	x.key("every-host")
	x.key(kb.Enter)
	x.wait("the dashboard is shown", `location.pathname === '/dashboard/every-host' && document.querySelector('.board-choices select')?.value === 'web01'`)
	x.charts(1)
	lines := eval[int](x, `document.querySelectorAll('.legend tbody tr').length`)
	eval[bool](x, `(() => { const s = document.querySelector('.board-choices select'); s.value = 'web02'; return s.dispatchEvent(new Event('change')); })()`)
	x.wait("the address has the host", `new URLSearchParams(location.search).get('var-host') === 'web02'`)
	x.charts(1)
	if n := eval[int](x, `document.querySelectorAll('.legend tbody tr').length`); n != lines || lines == 0 {
		t.Errorf("%d lines of web01, %d of web02", lines, n)
	}

	text := s.call(t, "Dashboard", map[string]any{"name": "every-host"})["text"].(string)
	text += "\ngraph: Ping of $host\n  PROMQL:p=collectd_ping{instance=\"$host\"}\n  LINE1.5:p#2264d1\ngraph: Wrong\n  PROMQL:p=sum(\n  LINE1.5:p#2264d1\n"
	s.call(t, "SaveDashboard", map[string]any{"name": "every-host", "text": text})
	x.expect("400 ")
	x.open("/dashboard/every-host?var-host=web02")
	x.wait("the title has the host", `[...document.querySelectorAll('.chart-head h3')].some(h => h.textContent === 'Ping of web02')`)
	x.wait("PromQL is drawn, and an error is said", `[...document.querySelectorAll('.chart-message')].some(p => p.textContent.includes('parse error')) && document.querySelectorAll('.legend tbody tr').length > `+strconv.Itoa(lines))
	for _, at := range []size{phone, laptop, {"wall", 3840, 2160, false}} {
		x.resize(at)
		x.scheme("dark")
		x.settle()
		x.keep("dashboard-host-" + at.name + "-dark")
		x.scheme("light")
		x.keep("dashboard-host-" + at.name)
	}
	x.resize(laptop)
	x.expect("404 ")
	x.open(`/dashboard/every-host?var-host=%22%5D%7D%3Cb%3E`)
	x.wait("a hostile value finds nothing", `document.querySelectorAll('.board-cell').length === 3 && !document.querySelector('.legend tbody tr') && !document.querySelector('main b')`)

	x.scripts(false)
	x.open("/dashboard/every-host?var-host=web02")
	x.pictures()
}

// TestAllHostsOnOneChart: a chart of one host leads to the same line of all hosts.
func TestAllHostsOnOneChart(t *testing.T) {
	x := newTab(t, hosting(t).url)
	x.open("/host/collectd/web01?f=load")
	x.charts(1)
	x.menu("Load", "All hosts on one chart")
	x.wait("the lines are offered", `document.querySelectorAll('dialog[open] .line-choice button').length > 1`)
	x.click("dialog[open] .line-choice button")
	x.wait("the workbench has many hosts", `location.pathname === '/workbench' && (new URLSearchParams(location.search).get('g').match(/DEF:/g) || []).length === 20`)
	x.charts(1)
	x.wait("what is left out is said", `[...document.querySelectorAll('.page > p.soft')].some(p => /^20 of \d+ hosts: those with the greatest last values/.test(p.textContent))`)
	x.keep("all-hosts")
}
