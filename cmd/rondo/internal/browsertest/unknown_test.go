//go:build !race

package browsertest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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

// TestEmptyChartsSayWhy: samples that come further apart than the heartbeat leave a chart empty. The
// page of the host and of the series say so, with the line that mends it.
func TestEmptyChartsSayWhy(t *testing.T) {
	chromium(t) // or the test ends here
	s := serve(t, filepath.Join(work, "sparse"), "--influx-step", "10")
	for i, at := range []int64{0, 500, 550, 1200, 1900, 2600, 2700, 3900, 4800, 6100, 6900, 8000} {
		line := fmt.Sprintf("room,host=attic celsius=2%d.5 %d\n", i%7, time.Now().Unix()-9000+at)
		r, err := http.Post(s.url+"/write?precision=s", "text/plain", strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Body.Close(); err != nil || r.StatusCode != http.StatusNoContent {
			t.Fatal(r.Status, err)
		}
	}
	x := newTab(t, s.url)
	for _, p := range []struct{ name, path string }{{"host", "/host/attic?from=-6h"}, {"series", "/series/influx/room/host=attic/celsius?from=-6h"}} {
		x.open(p.path)
		x.wait("the page of the "+p.name+" says why", `/\d+ s apart, and the heartbeat is \d+ s.*rondo tune \S+ -h/s.test(document.querySelector('.chart-message:not([hidden])')?.innerText)`)
		for _, at := range []size{phone, laptop} {
			x.resize(at)
			x.settle()
			x.keep("sparse-" + p.name + "-" + at.name)
		}
	}
}
