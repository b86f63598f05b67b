//go:build !race

package browsertest

import (
	"fmt"
	"testing"
)

// TestLegendsOfNarrowChartsKeepTheirNames: four charts stand in a row on the status page, and the
// columns of their legends left no room for the names.
func TestLegendsOfNarrowChartsKeepTheirNames(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	const names = `[...document.querySelectorAll('.legend tbody button span')].filter((e) => e.checkVisibility())`
	for _, width := range []int64{1280, 390} {
		x.resize(size{name: "legends", width: width, height: 900, phone: width < 600})
		x.open("/status")
		x.settle()
		x.wait("the charts have legends", names+".length >= 4")
		type name struct {
			Text       string
			Shown, All float64
		}
		for _, n := range eval[[]name](x, names+".map((e) => ({Text: e.textContent, Shown: e.clientWidth || e.getBoundingClientRect().width, All: e.scrollWidth}))") {
			if n.Shown < min(n.All, 70) {
				t.Errorf("at %d pixels %q has %v of %v pixels", width, n.Text, n.Shown, n.All)
			}
		}
		x.keep(fmt.Sprintf("status-legends-%d", width))
	}
}
