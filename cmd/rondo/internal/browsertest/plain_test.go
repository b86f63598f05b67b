//go:build !race

package browsertest

import "testing"

// pictures waits until at least one picture of the server is in the page and all of them have come.
func (x *tab) pictures() {
	x.t.Helper()
	x.wait("graphs that the server has drawn", `(i => i.length > 0 && i.every(e => e.complete && e.naturalWidth > 100))([...document.querySelectorAll('img[src^="/graph.svg"]')])`)
}

// TestWithoutScripts goes from home to a host, to a series, and to the status, by links alone. The
// server draws the graphs.
func TestWithoutScripts(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.scripts(false)
	x.open("/")
	x.keep("plain-home")
	x.click(`a[href="/host/web02"]`)
	x.wait("the host is open", `location.pathname === '/host/web02'`)
	x.pictures()
	x.settle()
	x.keep("plain-host")
	x.click(`a[href="/host/collectd/web02"]`)
	x.wait("what collectd sends is open", `location.pathname === '/host/collectd/web02'`)
	x.click(`a[href^="/host/collectd/web02/load"]`)
	x.wait("the folder is open", `location.pathname === '/host/collectd/web02/load'`)
	x.click(`a[href^="/series/collectd/web02/load/load"]`)
	x.wait("the series is open", `location.pathname === '/series/collectd/web02/load/load'`)
	x.pictures()
	x.keep("plain-series")
	week := eval[string](x, `[...document.querySelectorAll('a')].filter(a => /from=-(1w|7d|1week|week)/.test(a.href)).map(a => a.getAttribute('href'))[0] || ''`)
	if week == "" {
		t.Fatal("no link leads to the last week of the series")
	}
	x.click(`a[href="` + week + `"]`)
	x.wait("the week is open", "location.href.endsWith("+quote(week)+")")
	x.pictures()
	x.click(`a[href="/status"]`)
	x.wait("the status is open", `location.pathname === '/status'`)
	x.wait("the status names collectd's receiver", `document.body.innerText.includes('collectd')`)
	x.keep("plain-status")
	x.resize(phone)
	for _, p := range pages {
		x.open(p.path)
		if wide := eval[int64](x, "document.documentElement.scrollWidth"); wide > phone.width {
			t.Errorf("%s without scripts is %d pixels wide in a window of %d", p.path, wide, phone.width)
		}
	}
	x.keep("plain-phone")
}
