//go:build !race

package browsertest

import (
	"testing"
)

// TestCoresAndZerosAreFolded: a host shows one chart of all its cores, each core when it is asked
// for, and a line for the charts that have nothing but zeros.
func TestCoresAndZerosAreFolded(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.resize(screen)
	x.open("/host/collectd/web01?from=-1d")
	x.charts(1)
	x.wait("all cores come first", `document.querySelector('.charts h3').textContent === 'All 2 cores'`)
	if eval[bool](x, `document.querySelector('.cores .chart').checkVisibility()`) {
		t.Error("the charts of cores are seen")
	}
	eval[bool](x, `(document.querySelector('[aria-label="Network"]').scrollIntoView(), true)`)
	x.wait("charts of zeros are words", `[...document.querySelectorAll('.zeros button')].some(e => e.textContent === 'eth0 errors')`)
	x.keep("folded")
	x.click(".zeros button")
	x.wait("the chart is there", `[...document.querySelectorAll('.chart h3')].some(e => e.textContent === 'eth0 errors' && e.checkVisibility())`)
	x.click(".cores summary")
	x.wait("each core has its chart", `[...document.querySelectorAll('.cores .chart canvas')].filter(e => e.checkVisibility()).length >= 4`)
	x.settle()
}

// TestOneColourForOneSeries: a series has the colour on its own page that it has on its host's.
func TestOneColourForOneSeries(t *testing.T) {
	s := hosting(t)
	const colours = `[...document.querySelectorAll('.legend')].map(l => [...l.querySelectorAll('.swatch')].map(e => e.style.backgroundColor).join()).find(c => c.split(',').length === 9) || ''`
	var seen [2]string
	for i, path := range []string{"/host/collectd/web01/load", "/series/collectd/web01/load/load"} {
		x := newTab(t, s.url)
		x.open(path + "?from=-1d")
		x.charts(1)
		x.wait("there are three lines", colours)
		seen[i] = eval[string](x, colours)
	}
	if seen[0] != seen[1] {
		t.Errorf("on the host's page %s, on its own %s", seen[0], seen[1])
	}
}
