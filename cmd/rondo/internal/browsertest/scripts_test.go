//go:build !race

package browsertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestScripts runs the tests of the page's own logic, which are scripts in query/web/testdata, for
// readers in zones that change their clocks and in one that is no whole hour from UTC.
func TestScripts(t *testing.T) {
	files := httptest.NewServer(http.FileServer(http.Dir("../../../../query/web")))
	t.Cleanup(files.Close)
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Kathmandu"} {
		t.Run(zone, func(t *testing.T) {
			x := newTab(t, files.URL)
			x.must(chromedp.Func(func(ctx context.Context, s *chromedp.Target) error {
				return s.Call(ctx, emulation.CommandSetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone}, nil)
			}))
			x.open("/testdata/scripts/run.html")
			x.wait("all tests have run", "globalThis.result")
			for _, failed := range eval[[]string](x, "globalThis.result.failed") {
				t.Error(failed)
			}
			if n := eval[int](x, "globalThis.result.count"); n < 25 {
				t.Errorf("only %d tests were run", n)
			}
		})
	}
}
