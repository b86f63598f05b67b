//go:build !race

package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
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

// answersSeen counts in window.answers, for each FetchMany, the time after which it asks for rows and
// the values of the longest column that it is given.
const answersSeen = `(() => {
	window.answers = [];
	const real = fetch;
	window.fetch = async (at, how) => {
		const r = await real(at, how);
		if (String(at).endsWith('/FetchMany')) {
			const given = await r.clone().json();
			answers.push({After: Number(JSON.parse(how.body).after || 0),
				Values: Math.max(...given.results.flatMap(x => (x.rows?.columns || []).map(c => (c.values || []).length)))});
		}
		return r;
	};
})()`

// TestLivePagesFetchTheTail: a live page fetches its range once, unless it came with it. Then it
// asks for the rows behind those that it has.
func TestLivePagesFetchTheTail(t *testing.T) {
	s := hosting(t)
	for path, came := range map[string]bool{"/series/collectd/web12/load/load?from=-2h": true, "/host/collectd/web12?from=-30min": false, "/?view=cards": false} {
		x := newTab(t, s.url)
		if _, err := chromedp.Call(x.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: answersSeen}); err != nil {
			t.Fatal(err)
		}
		x.open(path)
		x.wait("rows were fetched twice", "answers.length >= 2 && answers.at(-1).After > 0")
		type answer struct{ After, Values int64 }
		got := eval[[]answer](x, "answers")
		first, last := got[0], got[len(got)-1]
		if last.Values > 30 || came && first.After == 0 || !came && (first.After != 0 || last.Values*2 > first.Values) {
			t.Errorf("%s fetches %v", path, got)
		}
	}
}

// TestSeriesGoesWhileItIsShown: the page of a series that is dropped says so, and shows rows again
// when the series is there again.
func TestSeriesGoesWhileItIsShown(t *testing.T) {
	s := hosting(t)
	const path = "lab/short/lived"
	now := time.Now().Unix()
	create := func() {
		s.call(t, "Create", map[string]any{"path": path, "start": fmt.Sprint(now - 10), "definition": map[string]any{
			"step": 1, "ds": []string{"DS:value:GAUGE:600:U:U"}, "rra": []string{"RRA:AVERAGE:0.5:1:600"},
		}})
		s.write(t, path, now, 41)
	}
	create()
	x := newTab(t, s.url)
	x.expect("404")
	x.open("/series/" + path + "?from=-5min")
	x.charts(1)
	s.call(t, "Drop", map[string]any{"path": path})
	x.wait("the page says that the rows cannot be had", `document.querySelector('.series-foot').innerText.startsWith('The rows cannot be had')`)
	create()
	x.wait("the page says what the rows are", `document.querySelector('.series-foot').innerText.startsWith('Each value is')`)
}
