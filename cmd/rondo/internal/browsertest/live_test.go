//go:build !race

package browsertest

import (
	"testing"
	"time"
)

// TestLiveUpdate: a sample that is written by RPC appears on the open page, which is not loaded
// again, in the same canvas.
func TestLiveUpdate(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	const path = "collectd/web11/load/load"
	x.open("/series/" + path + "?from=-10min&live=1")
	x.charts(1)
	eval[bool](x, `(() => { window.witness = document.querySelector('.chart canvas'); window.flashes = 0;
		new MutationObserver(list => { for (const m of list) for (const n of m.removedNodes)
			if (n === witness || n.contains?.(witness)) flashes++; }).observe(document.body, {childList: true, subtree: true}); return true; })()`)
	// 77 is higher than anything else in the range, and a load of a host that does nothing else.
	now := time.Now().Unix()
	for at := now - now%10; at <= now+20; at += 10 {
		s.write(t, path, at, 77, 76, 75)
	}
	x.wait("the new value is read on the page", `/\b7[5-7](\.\d+)?\b/.test(document.querySelector('main').innerText)`)
	if !eval[bool](x, `window.witness && witness.isConnected && document.querySelector('.chart canvas') === witness && flashes === 0`) {
		t.Error("the canvas was made anew, or the page was loaded again")
	}
}
