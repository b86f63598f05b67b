//go:build !race

package browsertest

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ends returns the range of the address in seconds since 1970; now is the end of a live one.
func (x *tab) ends() (from, to float64) {
	x.t.Helper()
	read := func(text string, now float64) float64 {
		if text == "" || text == "now" {
			return now
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil && !strings.HasPrefix(text, "-") {
			return v
		}
		if v, err := time.ParseDuration(strings.TrimSuffix(text, "ec")); err == nil {
			return now + v.Seconds()
		}
		units := map[byte]float64{'d': day, 'w': 7 * day, 'y': 365 * day, 'M': 31 * day}
		n, err := strconv.ParseFloat(text[:len(text)-1], 64)
		if err != nil || units[text[len(text)-1]] == 0 {
			x.t.Fatalf("the address has the time %q", text)
		}
		return now + n*units[text[len(text)-1]]
	}
	to = read(x.query("to"), float64(time.Now().Unix()))
	return read(x.query("from"), to), to
}

// TestZoomPanBack drags a range, drags it aside, and goes back by double-click and by the browser.
func TestZoomPanBack(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	end := time.Now().Unix() - 3600
	x.open("/series/collectd/web01/load/load?from=" + strconv.FormatInt(end-7*day, 10) + "&to=" + strconv.FormatInt(end, 10))
	x.charts(1)
	wide := x.address()

	x.drag(plot, 0.4, 0.6, 0.4)
	x.wait("the range is in the address", "location.href !== "+quote(s.url+wide))
	from, to := x.ends()
	if length := to - from; math.Abs(length-0.2*7*day) > 0.03*7*day {
		t.Errorf("a fifth of the chart of a week was dragged: the range is %.0f s", length)
	}
	if from < float64(end-7*day) || to > float64(end) {
		t.Errorf("the range %.0f to %.0f is not within the week", from, to)
	}
	x.settle()
	zoomed := x.address()

	x.drag(plot, 0.3, 0.6, 0.985)
	x.wait("the range has moved", "location.href !== "+quote(s.url+zoomed))
	from2, to2 := x.ends()
	if math.Abs((to2-from2)-(to-from)) > 2 {
		t.Errorf("a moved range is %.0f s long, it was %.0f s", to2-from2, to-from)
	}
	if shift := (from - from2) / (to - from); shift < 0.2 || shift > 0.45 {
		t.Errorf("dragged to the right by 0.3 of the chart, earlier times by %.2f are shown", shift)
	}

	x.doubleClick(plot)
	x.wait("a double-click leads back", "location.href === "+quote(s.url+zoomed))
	x.doubleClick(plot)
	x.wait("and once more", "location.href === "+quote(s.url+wide))
	x.must(chromedp.NavigateBack())
	x.wait("so does the browser", "location.href === "+quote(s.url+zoomed))
	x.charts(1)
}

// TestRangeByKeys: arrows pan, plus and minus zoom, digits choose.
func TestRangeByKeys(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/host/collectd/web01?from=-1d")
	x.charts(1)
	press := func(key string) (from, to float64) {
		t.Helper()
		before := x.address()
		x.key(key)
		x.wait("the key "+key+" changes the range", "location.href !== "+quote(s.url+before))
		return x.ends()
	}
	from, to := x.ends()
	from1, to1 := press(kb.ArrowLeft)
	if from1 >= from || to1 >= to {
		t.Errorf("the left arrow leads from %.0f…%.0f to %.0f…%.0f", from, to, from1, to1)
	}
	from2, to2 := press("+")
	if to2-from2 >= to1-from1 {
		t.Errorf("plus makes %.0f s of %.0f s", to2-from2, to1-from1)
	}
	from3, to3 := press("-")
	if to3-from3 <= to2-from2 {
		t.Errorf("minus makes %.0f s of %.0f s", to3-from3, to2-from2)
	}
}

// TestOneCrosshair: pointing at one chart shows the values of that moment in all of them.
func TestOneCrosshair(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/host/collectd/web01?from=-1d")
	x.charts(4)
	x.hover(plot, 0.5, 0.4)
	x.wait("the legends of other charts follow", "document.querySelectorAll('.legend.pointed').length >= 3")
	x.must(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))
	x.wait("and go back when the pointer leaves", "document.querySelectorAll('.legend.pointed').length === 0")
}

// TestSharedAddress: what one reader sees, another sees who opens the address.
func TestSharedAddress(t *testing.T) {
	s := hosting(t)
	end := time.Now().Unix() - 86400
	for _, path := range []string{"/host/collectd/" + slowHost, "/series/collectd/" + slowHost + "/load/load"} {
		x := newTab(t, s.url)
		x.open(path + "?from=-1w")
		x.charts(1)
		x.drag(plot, 0.5, 0.7, 0.4)
		x.wait("the range is in the address", "!location.search.includes('-1w')")
		x.settle()
		const words = `document.querySelector('.range-words').textContent`
		want := eval[string](x, words)
		if from, _ := x.ends(); from < float64(end-7*day) {
			t.Errorf("the range begins at %.0f", from)
		}
		y := newTab(t, s.url)
		y.open(x.address())
		y.wait("the colleague sees "+want, words+" === "+quote(want))
		y.charts(1)
		const drawn = `[...document.querySelectorAll('.chart canvas')].length`
		if a, b := eval[int](x, drawn), eval[int](y, drawn); a != b {
			t.Errorf("%s: one sees %d canvases, the colleague %d", path, a, b)
		}
	}
}
