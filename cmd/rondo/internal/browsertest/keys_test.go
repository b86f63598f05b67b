//go:build !race

package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// tabTo presses Tab until a link whose address begins so has the focus. All that gets the focus on
// the way must show it.
func (x *tab) tabTo(prefix string) {
	x.t.Helper()
	for range 200 {
		x.key(kb.Tab)
		at := eval[struct{ Href, Shows, What string }](x, `(() => { const e = document.activeElement, s = getComputedStyle(e);
			const shows = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none';
			return {Href: e.getAttribute('href') || '', Shows: shows ? 'yes' : '', What: e.outerHTML.slice(0, 200)}; })()`)
		if at.Shows == "" && at.What[:5] != "<body" {
			x.t.Errorf("nothing shows the focus on %s", at.What)
		}
		if len(at.Href) >= len(prefix) && at.Href[:len(prefix)] == prefix {
			return
		}
	}
	x.t.Fatalf("Tab does not lead to a link to %s (at %s)", prefix, x.address())
}

// TestKeyboardOnly goes from home to a host, to a series, and back, with keys alone.
func TestKeyboardOnly(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/")
	x.wait("home shows hosts", `document.querySelector('main a[href^="/host/"]')`)
	x.settle()
	x.tabTo("/host/")
	x.key(kb.Enter)
	x.wait("the host is open", `location.pathname.startsWith('/host/')`)
	x.charts(1)
	x.tabTo("/series/collectd/")
	x.key(kb.Enter)
	x.wait("the series is open", `location.pathname.startsWith('/series/collectd/')`)
	x.charts(1)

	x.key("?")
	x.wait("a question mark shows the keys", `document.querySelector('dialog[open]')`)
	x.key(kb.Escape)
	x.wait("Escape closes it", `!document.querySelector('dialog[open]')`)
	x.key("g")
	x.key("h")
	x.wait("g h leads home", `location.pathname === '/'`)
	x.wait("home shows hosts", `document.querySelector('main a[href^="/host/"]')`)
	x.key("/")
	x.wait("a slash leads to the search", fmt.Sprintf(`document.activeElement === document.querySelector(%s)`, quote(search)))
	x.key(kb.Escape)
	x.wait("Escape leads out of it", fmt.Sprintf(`document.activeElement !== document.querySelector(%s)`, quote(search)))
}

// TestValuesByKeyboard: a chart that has the focus reads its values one by one, and a table holds
// them all.
func TestValuesByKeyboard(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	end := time.Now().Unix() - 1800
	x.open(fmt.Sprintf("/series/collectd/web02/load/load?from=%d&to=%d", end-3600, end))
	x.charts(1)
	eval[bool](x, `(document.querySelector('.chart-plot').focus(), true)`)
	said := func() string { return eval[string](x, `document.getElementById('said').textContent`) }
	x.key(kb.ArrowLeft, shift)
	x.wait("a value is told", `/shortterm.*\d/.test(document.getElementById('said').textContent)`)
	first := said()
	x.key(kb.ArrowLeft, shift)
	x.wait("then the one before", "document.getElementById('said').textContent !== "+quote(first))
}
