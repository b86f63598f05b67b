//go:build !race

package browsertest

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestPaperHasAllCharts: charts below the window are fetched and drawn when the page of a host is
// printed, and the paper says host, range and zone.
func TestPaperHasAllCharts(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.scheme("dark")
	x.open("/host/collectd/web01?from=-1d")
	x.charts(1)
	eval[bool](x, `(() => { addEventListener('beforeprint', () => setTimeout(() => 0)); window.blank = null;
		addEventListener('beforeprint', () => {
			const colours = (c) => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
				for (let i = 0; i < d.length; i += 4) if (d[i + 3]) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
				return seen.size; };
			const charts = [...document.querySelectorAll('.charts > .chart')].filter((c) => c.checkVisibility());
			window.blank = {All: charts.length, Blank: charts.filter((c) => !c.querySelector('canvas') || colours(c.querySelector('canvas')) < 5).length,
				Words: document.querySelector('.printed').textContent, Light: document.documentElement.dataset.theme === 'light'};
		}); return true; })()`)
	var printed []byte
	x.must(chromedp.Func(func(ctx context.Context, s *chromedp.Target) error {
		var out struct {
			Data []byte `json:"data"`
		}
		err := s.Call(ctx, page.CommandPrintToPDF, page.PrintToPDFParams{}, &out)
		printed = out.Data
		return err
	}))
	type result struct {
		All, Blank int
		Words      string
		Light      bool
	}
	r := eval[result](x, "window.blank")
	if r.All < 10 || r.Blank > 0 || !r.Light {
		t.Errorf("%+v", r)
	}
	if len(printed) < 20000 {
		t.Errorf("a PDF of %d bytes", len(printed))
	}
	if want := eval[string](x, "document.querySelector('.printed').textContent"); r.Words != want || len(want) < 30 {
		t.Errorf("the paper says %q", r.Words)
	}
	if !x.dark() {
		t.Error("the screen stays light")
	}
}
