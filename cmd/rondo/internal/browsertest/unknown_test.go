//go:build !race

package browsertest

import "testing"

// TestUnknownPaths: the page of a series or a host that is not there names what is near, and a path
// of the other kind leads to its page.
func TestUnknownPaths(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.expect(`status of 4\d\d`) // there is no such series
	for _, c := range []struct{ path, words, link string }{
		{"/series/collectd/web01", "It is a folder", "/host/collectd/web01"},
		{"/series/collectd/web01/load/lod", "Names like it", "/series/collectd/web01/load/load"},
		{"/host/collectd/web0", "Names like it", "/host/collectd/web01"},
	} {
		x.mu.Lock()
		x.requests = nil
		x.mu.Unlock()
		x.open(c.path)
		x.settle()
		// That the path is not there came with the page. The navigation counts alerts.
		for _, method := range x.asked() {
			if method != "Search" && method != "Alerts" {
				t.Errorf("%s asks for %s", c.path, method)
			}
		}
		x.wait("the page of "+c.path+" says what it knows", "document.querySelector('main').innerText.includes("+quote(c.words)+")")
		x.wait("a link leads to "+c.link, "document.querySelector('main .results a[href="+quote(c.link)+"]')")
	}
}
