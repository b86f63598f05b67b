//go:build !race

package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// search is the box of the header.
const search = "#search input"

// TestSearchAndOpen types words into the search box, sees hits while typing, and opens one by
// Enter; the browser's back and forward lead to where it was.
func TestSearchAndOpen(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/")
	x.settle()
	x.click(search)
	x.key("web07 loa")
	x.wait("the hits show the series while one types", `[...document.querySelectorAll('[role=option]')].some(e => e.textContent.includes('collectd/web07/load/load'))`)
	x.key("d")
	const chosen = `document.querySelector('[role=option][aria-selected=true] a')`
	x.wait("the hits are those of all that was typed", `(e => e.length === 2 && e.every(e => [...e.querySelectorAll('mark')].some(m => m.textContent === 'load')))([...document.querySelectorAll('[role=option]')])`)
	for range 2 { // the series comes behind its folder
		x.key(kb.ArrowDown)
	}
	x.wait("the arrows choose the series", chosen+`?.pathname === '/series/collectd/web07/load/load'`)
	x.key(kb.Enter)
	x.wait("the series is open", `location.pathname === '/series/collectd/web07/load/load'`)
	x.charts(1)

	x.must(chromedp.NavigateBack())
	x.wait("back is home", `location.pathname === '/'`)
	x.settle()
	x.must(chromedp.NavigateForward())
	x.wait("forward is the series", `location.pathname === '/series/collectd/web07/load/load'`)
	x.charts(1)
}

// TestSearchAsPage: Enter without a choice shows all hits, under an address that can be shared.
func TestSearchAsPage(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/")
	x.settle()
	x.key("/")
	x.wait("a slash goes to the box", fmt.Sprintf(`document.activeElement === document.querySelector(%s)`, quote(search)))
	x.key("ping gateway")
	x.key(kb.Enter)
	const found = `document.querySelectorAll('main a[href^="/series/collectd/web"][href*="/ping/"]').length`
	x.wait("hits are listed", `location.search.includes('q=') && `+found+` >= 10`)
	if q := x.query("q"); q != "ping gateway" {
		t.Errorf("the address says q=%s", q)
	}
	y := x.another()
	y.open(x.address())
	y.wait("the address shows the hits to others", found+` >= 10`)
}

// TestSearchShowsSeries: a word that forty folders have does not push the series out of the window.
func TestSearchShowsSeries(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/?q=load")
	x.settle()
	x.wait("a series is seen", `(e => e && e.getBoundingClientRect().bottom < innerHeight)(document.querySelector('main .results a[href^="/series/"]'))`)
	const folders = `[...document.querySelectorAll('main .results a[href^="/host/"]')].filter(e => e.checkVisibility()).length`
	few := eval[int](x, folders)
	x.click(".results-more button")
	x.wait("all folders are seen when asked for", folders+fmt.Sprintf(" > %d", few))
}

// TestHomeLeadsToHosts: the first page shows the hosts, and one of them opens.
func TestHomeLeadsToHosts(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/")
	link := `main a[href="/host/web07"]`
	x.wait("home shows a host", fmt.Sprintf("document.querySelector(%s)", quote(link)))
	x.wait("and a host of Ganglia", `document.querySelector('main a[href="/host/db1.example.org"]')`)
	x.click(link)
	x.wait("the host is open", `location.pathname === '/host/web07'`)
	x.charts(4)
}
