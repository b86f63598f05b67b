//go:build !race

package browsertest

import (
	"net/url"
	"strings"
	"testing"
)

// pages are addresses of every kind of page, by the names of their photographs.
var pages = []struct{ name, path string }{
	{"home", "/"},
	{"search", "/?q=load"},
	{"host", "/host/collectd/" + slowHost},
	{"host-week", "/host/collectd/" + slowHost + "?from=-1w"},
	{"host-ganglia", "/host/ganglia/db1.example.org"},
	{"series", "/series/collectd/" + slowHost + "/load/load?from=-1w"},
	{"series-year", "/series/collectd/web01/interface-eth0/if_octets?from=-1y"},
	{"series-seasonal", "/series/shop/requests?from=-2d"},
	{"workbench", "/workbench"},
	{"alerts", "/alerts"},
	{"status", "/status"},
	{"hostile-host", "/host/" + escaped("collectd/"+hostileHost)},
	{"hostile-series", "/series/" + escaped(hostileSeries)},
}

// escaped writes a path of series into an address.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// TestPagesAreQuiet opens every page in three sizes, light and dark. None says anything in the
// console, asks another host, breaks the policy, or is wider than the window.
func TestPagesAreQuiet(t *testing.T) {
	s := hosting(t)
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			x := newTab(t, s.url)
			for _, at := range []size{laptop, screen, phone} {
				x.resize(at)
				if at != screen { // which shows what the laptop showed, made wider
					x.open(p.path)
				}
				for _, scheme := range []string{"light", "dark"} {
					x.scheme(scheme)
					x.settle()
					x.keep(p.name + "-" + at.name + "-" + scheme)
				}
				x.keepWhole(p.name + "-" + at.name + "-whole")
				if wide := eval[int64](x, "document.documentElement.scrollWidth"); wide > at.width {
					t.Errorf("%s is %d pixels wide in a window of %d", p.name, wide, at.width)
				}
			}
		})
	}
}

// TestSheetsEndWithTheirPage goes from page to page by links, and back: only the sheet of the page
// that is shown is in force.
func TestSheetsEndWithTheirPage(t *testing.T) {
	x := newTab(t, hosting(t).url)
	x.open("/status")
	const sheets = `[...document.styleSheets].filter((s) => !s.disabled && s.href.includes('/pages/')).map((s) => s.href.split('/').pop()).join()`
	for _, step := range []struct {
		move func()
		want string
	}{
		{func() {}, "status.css"},
		{func() { x.click(`#nav a[href="/"]`) }, "home.css"},
		{func() { x.click(`#nav a[href="/alerts"]`) }, "alerts.css"},
		{func() { eval[bool](x, "history.back() === undefined") }, "home.css"},
		{func() { eval[bool](x, "history.back() === undefined") }, "status.css"},
	} {
		step.move()
		x.wait("the sheet in force is "+step.want, sheets+" === '"+step.want+"'")
	}
}
