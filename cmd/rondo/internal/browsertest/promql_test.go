//go:build !race

package browsertest

import (
	"strconv"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestPromQLInTheWorkbench types an expression with completion, mixes it with a series, and reads the
// answer of the server where the expression is wrong.
func TestPromQLInTheWorkbench(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/workbench?from=-6h")
	x.settle()
	x.clickText("Add PromQL")
	const field = `document.activeElement`
	x.wait("the field has the cursor", field+`.closest('.bench-query') !== null`)
	x.key("collectd_pin")
	x.wait("a metric is offered", `[...document.querySelectorAll('.bench-query [role=option]')].some(o => o.textContent.includes('collectd_ping'))`)
	x.keep("promql-names")
	x.key(kb.Enter)
	x.wait("the metric is taken", field+`.value === 'collectd_ping'`)
	x.key("{inst")
	x.wait("a label is offered", `document.querySelector('.bench-query [aria-selected=true]')?.textContent.includes('instance')`)
	x.key(kb.Enter)
	x.wait("values of the label are offered", field+`.value === 'collectd_ping{instance=""' && document.querySelectorAll('.bench-query [role=option]').length > 1`)
	x.key("web0")
	x.wait("fewer are offered", `document.querySelector('.bench-query [aria-selected=true]')?.textContent.includes('web01')`)
	x.key(kb.Escape)
	x.wait("the list is closed", `document.querySelector('.bench-query ul').hidden`)
	eval[bool](x, `(document.activeElement.select(), true)`)
	x.key("collectd_ping")
	x.wait("the whole name is offered, and not marked", `document.querySelector('.bench-query [role=option]') && !document.querySelector('.bench-query [aria-selected=true]')`)
	x.key(kb.Enter)
	x.wait("the address has it", `new URLSearchParams(location.search).get('g').includes('PROMQL:a=collectd_ping')`)
	x.charts(1)
	x.wait("each host is a line", `document.querySelectorAll('.legend tbody tr').length > 1`)
	x.wait("no command of rrdtool is offered", `[...document.querySelectorAll('.bench-ways button')].every(b => !b.checkVisibility() || b.textContent !== 'Copy as rrdtool graph')`)
	eval[bool](x, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`)
	x.clickText("Copy as rondo query")
	x.wait("the command is copied", `window.copied === 'rondo query collectd_ping --start -6h'`)
	s.rondo(t, "query", "collectd_ping", "--start", "-6h")
	x.keep("promql-hosts")

	x.click(".bench-add .finder input")
	x.key("web01 ping")
	x.wait("the series is found", `document.querySelector('.bench-add [aria-selected=true]')`)
	x.key(kb.Enter)
	x.wait("both are in the address", `/PROMQL:a=.*/.test(new URLSearchParams(location.search).get('g')) && new URLSearchParams(location.search).get('g').includes('DEF:b=')`)
	x.charts(1)

	x.expect("400 ")
	x.click(".bench-query input")
	eval[bool](x, `(document.activeElement.select(), true)`)
	x.key("sum(collectd_ping")
	x.key(kb.Escape)
	x.key(kb.Enter)
	x.wait("the server's error is beside the line", `document.querySelector('.bench-said.bad')?.textContent.includes('unclosed')`)
	x.wait("the series is still drawn", `document.querySelectorAll('.legend tbody tr').length === 1`)
	for _, at := range []size{laptop, phone, {"wall", 3840, 2160, false}} {
		x.resize(at)
		x.scheme("dark")
		x.settle()
		x.keepWhole("promql-error-" + at.name)
	}
}

// TestPatternsInTheFinder adds all that a pattern matches at once, and one step back removes them.
func TestPatternsInTheFinder(t *testing.T) {
	x := newTab(t, hosting(t).url)
	x.open("/workbench?from=-6h")
	x.settle()
	x.click(".finder input")
	x.key("collectd/web0?/ping/*")
	x.wait("all can be added", `/^Add all \d+ that match$/.test(document.querySelector('.finder [aria-selected=true]')?.textContent)`)
	n := eval[int](x, `Number(/\d+/.exec(document.querySelector('.finder [aria-selected=true]').textContent)[0])`)
	x.keep("finder-pattern")
	x.key(kb.Enter)
	x.wait("all are in the address", `new URLSearchParams(location.search).get('g')?.match(/DEF:/g).length === `+strconv.Itoa(n))
	x.charts(1)
	eval[bool](x, `(history.back(), true)`)
	x.wait("one step back removes them", `!location.search.includes('g=')`)
	x.click(".finder input")
	x.key("host=web01 load")
	x.wait("a label finds", `document.querySelectorAll('.finder [role=option]').length && [...document.querySelectorAll('.finder .hit-path')].every(h => h.textContent.includes('web01/load'))`)
}
