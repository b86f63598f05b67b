//go:build !race

package browsertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// many is the server of a database with 100,000 series.
var many = once("many", func(f *filling) {
	d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:360"})
	if err != nil {
		f.t.Fatal(err)
	}
	const hosts, each = 1000, 100
	var b core.Batch
	for h := range hosts {
		specs := make([]core.Spec, 0, each)
		for i := range each {
			path := fmt.Sprintf("collectd/node%04d/cpu-%d/cpu-user", h, i)
			if i == 0 {
				path = fmt.Sprintf("collectd/node%04d/load/load", h)
			}
			specs = append(specs, core.Spec{Path: path, Definition: d, Start: rra.Seconds(f.end - 60)})
		}
		made, err := f.store.CreateBatch(f.t.Context(), specs)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, m := range made {
			if m.Err != nil {
				f.t.Fatal(m.Err)
			}
			for at := f.end - 50; at <= f.end; at += 10 {
				b.Add(m.Ref, rra.Seconds(at), rra.Float(float64(at%7)))
			}
		}
	}
	if err := f.store.Append(f.t.Context(), &b); err != nil {
		f.t.Fatal(err)
	}
})

// chartPainted sets window.painted to the milliseconds from the beginning of the navigation to the
// end of the first frame in which a chart has lines of 200 points or more. Charts are drawn while a
// frame is being made; the message arrives behind it.
const chartPainted = `(() => {
	let points = 0, framing = false;
	const frame = requestAnimationFrame;
	window.requestAnimationFrame = (run) => frame((at) => { framing = true; try { run(at); } finally { framing = false; } });
	const behind = () => { const c = new MessageChannel(); c.port1.onmessage = () => { window.painted = performance.now(); }; c.port2.postMessage(0); };
	const count = (prototype) => { const draw = prototype.lineTo; prototype.lineTo = function (...at) {
		if (++points === 200) framing ? behind() : frame(behind);
		return draw.apply(this, at); }; };
	count(CanvasRenderingContext2D.prototype);
	count(Path2D.prototype);
})()`

// homePainted does the same for the first frame in which home has links to twenty hosts.
const homePainted = `new MutationObserver((_, me) => {
	if (document.querySelectorAll('main a[href^="/host/"]').length < 20) return;
	me.disconnect();
	requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => { window.painted = performance.now(); }; c.port2.postMessage(0); });
}).observe(document, {childList: true, subtree: true})`

// TestFirstPaint logs how long a reader waits. It fails if there is nothing to see, never for
// the time.
func TestFirstPaint(t *testing.T) {
	for _, c := range []struct {
		what, path, watch string
		server            func(*testing.T) *server
	}{
		{"a chart with a year of data", "/series/collectd/web01/load/load?from=-1y", chartPainted, hosting},
		{"a host with a day of data", "/host/collectd/web01", chartPainted, hosting},
		{"home with 40 hosts", "/", homePainted, hosting},
		{"home with 100,000 series", "/", homePainted, many},
	} {
		s := c.server(t)
		x := newTab(t, s.url)
		if _, err := chromedp.Call(x.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: c.watch}); err != nil {
			t.Fatal(err)
		}
		var took []float64
		for range 7 {
			x.open(c.path)
			x.wait("it is painted", "window.painted > 0")
			took = append(took, eval[float64](x, "window.painted"))
			x.settle()
		}
		first := took[0]
		slices.Sort(took)
		t.Logf("first paint of %s: median %.0f ms, fastest %.0f, slowest %.0f, the first time %.0f, of %d", c.what, took[len(took)/2], took[0], took[len(took)-1], first, len(took))
	}
}
