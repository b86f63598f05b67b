//go:build !race

package browsertest

import (
	"strconv"
	"testing"
	"time"
)

// TestCompareWithLastWeek: the reader chooses what to compare with, the address has it, and the hover
// of a name says the difference, on the pages of a host and of a series.
func TestCompareWithLastWeek(t *testing.T) {
	s := hosting(t)
	end := time.Now().Unix() - slowFor + day // the second day on which the host was slow
	for _, path := range []string{"/host/collectd/" + slowHost, "/series/collectd/" + slowHost + "/load/load"} {
		x := newTab(t, s.url)
		x.open(path + "?from=" + strconv.FormatInt(end-day/2, 10) + "&to=" + strconv.FormatInt(end, 10))
		x.charts(1)
		x.click(".range-words")
		x.wait("the panel is open", "document.querySelector('.range-panel:popover-open')")
		eval[bool](x, `[...document.querySelectorAll('.range-panel button')].find(e => e.textContent === 'last week').click() || true`)
		x.wait("the address has it", "location.search.includes('compare=week')")
		x.wait("the difference is said", `[...document.querySelectorAll('.legend button')].some(e => /\n(\d+ %|\d+ times as) (more than|much as) last week\n/.test(e.title))`)
		x.keep("compare")
		x.click(".rangebar > button[title^='Compare']")
		x.wait("nothing is compared any more", `!location.search.includes('compare') && ![...document.querySelectorAll('.legend button')].some(e => e.title.includes('last week'))`)
	}
}

// TestTypedTimes: what a reader types is read as the command line reads it, in the zone of the page.
func TestTypedTimes(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/host/collectd/web01")
	x.charts(1)
	show := func(from, to string) {
		t.Helper()
		x.click(".range-words")
		eval[bool](x, `(([a, b]) => { a.value = `+quote(from)+`; b.value = `+quote(to)+`; return true; })(document.querySelectorAll('.range-panel input'))`)
		x.click(".range-panel form button")
	}
	show("2026-13-40", "now")
	x.expect("400")
	x.wait("a mistake is explained", "document.querySelector('.range-panel .wrong').textContent.includes('is no time')")
	x.key("\x1b")
	at := time.Unix(time.Now().Unix()-2*day, 0).UTC().Truncate(time.Hour)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	show(at.In(berlin).Format("2006-01-02 15:04"), "start+2h")
	want := strconv.FormatInt(at.Unix(), 10)
	x.wait("the address has seconds", "new URL(location).searchParams.get('from') === "+quote(want)+" && new URL(location).searchParams.get('to') === "+quote(strconv.FormatInt(at.Unix()+7200, 10)))
	show("-3h", "now")
	x.wait("a length stays a length", "location.search.includes('from=-3h') && !location.search.includes('to=')")
	x.click(".range-words")
	eval[bool](x, `[...document.querySelectorAll('.range-panel button')].find(e => e.textContent === 'UTC').click() || true`)
	x.wait("times are in UTC", "location.search.includes('tz=UTC') && document.querySelector('.range-words')?.textContent.includes('UTC')")
	x.charts(1)
}
