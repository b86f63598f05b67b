//go:build !race

package browsertest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asked returns the methods that pages of the tab have called, in order.
func (x *tab) asked() (methods []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.requests {
		if method, ok := strings.CutPrefix(r, "/rondo.v1.Rondo/"); ok {
			methods = append(methods, method)
		}
	}
	return methods
}

// TestFirstQuestion: the page of a series comes with all that its chart needs. Other pages come with
// what they have to know before they can ask for rows, which is the first thing that they do.
func TestFirstQuestion(t *testing.T) {
	s := hosting(t)
	for _, c := range []struct {
		path  string
		first string
		never []string
	}{
		{"/series/collectd/web01/load/load?from=-1y", "Notes", []string{"Info", "FetchMany"}},
		{"/host/collectd/web01?from=-2d&to=-1d", "FetchMany", []string{"Charts", "Tree"}},
		{"/?view=cards", "FetchMany", []string{"Tree"}},
	} {
		x := newTab(t, s.url)
		x.open(c.path)
		x.settle()
		x.wait("something is drawn", "document.querySelector('main canvas')")
		x.settle()
		got := x.asked()
		if len(got) == 0 || got[0] != c.first {
			t.Errorf("%s asks for %v", c.path, got)
		}
		// Later a live page asks for the news of all that.
		for _, method := range c.never {
			if i := slices.Index(got, method); i >= 0 && i < 3 {
				t.Errorf("%s asks for %v", c.path, got)
			}
		}
	}
}

// TestRowsForNarrowPages: a page says how many rows it wants, and the next one comes with so many.
func TestRowsForNarrowPages(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.resize(phone)
	for i := range 2 {
		x.open("/series/collectd/web01/load/load?from=-2d&to=-1d")
		x.charts(1)
		x.wait("its details are there", "document.querySelector('.series-details')")
		x.wait("the server is told", `document.cookie.includes('points=400')`)
		x.settle()
		got := x.asked()
		if asks := slices.Contains(got, "FetchMany"); asks != (i == 0) {
			t.Errorf("visit %d: it asks for %v", i+1, got)
		}
		x.mu.Lock()
		x.requests = nil
		x.mu.Unlock()
	}
}

// TestYoungHostOpensWithAShortRange: what has sent for two minutes is seen as more than a dot, and an
// address that names a range keeps it.
func TestYoungHostOpensWithAShortRange(t *testing.T) {
	s := hosting(t)
	var lines strings.Builder
	for at := time.Now().Unix() - 120; at <= time.Now().Unix(); at += 10 {
		fmt.Fprintf(&lines, "room,place=attic celsius=%d.5 %d\n", 20+at%7, at)
	}
	r, err := http.Post(s.url+"/write?precision=s", "text/plain", strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil || r.StatusCode != http.StatusNoContent {
		t.Fatal(r.Status, err)
	}
	const minutes = `(([, a, b, c, d]) => ((c * 60 + +d) - (a * 60 + +b) + 1440) % 1440)(/(\d\d):(\d\d).* (\d\d):(\d\d)/.exec(document.querySelector('.printed').textContent))`
	x := newTab(t, s.url)
	x.open("/host/influx")
	x.wait("15 minutes are shown", minutes+" === 15")
	x.charts(1)
	x.keep("young")
	x.open("/host/influx?from=-3h")
	x.charts(1)
	if got := eval[int](x, minutes); got != 180 {
		t.Errorf("the address says three hours: %d minutes are shown", got)
	}
}

// TestOneValueIsSeen: a page that waits for the first sample shows it by itself, on a card and in a
// chart.
func TestOneValueIsSeen(t *testing.T) {
	chromium(t) // or the test ends here
	s := serve(t, filepath.Join(work, "empty"))
	x := newTab(t, s.url)
	x.open("/")
	x.wait("the page says how to send one", `document.querySelector('.welcome pre').innerText.includes('`+s.url+`/write')`)
	r, err := http.Post(s.url+"/write", "text/plain", strings.NewReader("room,place=cellar celsius=21.5"))
	if err != nil || r.StatusCode != http.StatusNoContent {
		t.Fatal(r, err)
	}
	_ = r.Body.Close()
	x.wait("the card has the value", `document.querySelector('.card[href="/host/room"] .card-value')?.innerText.includes('21.5')`)
	x.keep("first-card")
	x.click(`.card[href="/host/room"]`)
	x.wait("the chart has the value", `document.querySelector('.chart canvas') && /21\.5.°C/.test(document.querySelector('.legend')?.innerText)`)
	x.settle()
	x.keep("first-chart")
}
