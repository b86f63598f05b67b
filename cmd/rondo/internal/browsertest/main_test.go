//go:build !race

package browsertest

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rondo-db/rondo/internal/localcluster"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// patience is how long a condition may take to hold on a slow machine.
const patience = 60 * time.Second

// work is the folder of everything that the tests make. It is removed at the end.
var work string

// atEnd holds what is to be stopped at the end, in reverse order.
var atEnd []func()

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rondo-browser-*")
	if err != nil {
		log.Print(err)
		return 1
	}
	work = dir
	defer func() {
		for i := len(atEnd) - 1; i >= 0; i-- {
			atEnd[i]()
		}
		if err := os.RemoveAll(work); err != nil {
			log.Print(err)
		}
	}()
	return m.Run()
}

// program returns the path of a rondo that is built from these sources.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	return localcluster.BuildRondo(work)
})

// always are the tests that run wherever peers are required: one of each way through the page.
var always = []string{
	"TestAlerts", "TestAlertsOnCharts", "TestCompareWithLastWeek", "TestOneDashboardForAllHosts", "TestOneValueIsSeen",
	"TestPaperHasAllCharts", "TestPromQLInTheWorkbench", "TestSearchAndOpen",
}

// chromium returns the context of the browser that all tests share. The tests take minutes and want
// the processors for themselves, so most run only if they are asked for.
func chromium(t *testing.T) context.Context {
	t.Helper()
	if !(rrdtooltest.Required() && slices.Contains(always, t.Name())) && os.Getenv("RONDO_SHOTS") == "" {
		t.Skip("takes minutes: RONDO_SHOTS=FOLDER runs it")
	}
	path := rrdtooltest.Peer(t, "chromium", "chromium-browser", "google-chrome")
	started.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path),
			chromedp.UserDataDir(filepath.Join(work, "profile")),
			chromedp.Flag("lang", "en-GB"),
			chromedp.Flag("no-proxy-server", true),
			chromedp.Flag("hide-scrollbars", true),
			chromedp.Env("TZ=Europe/Berlin", "LANGUAGE=en_GB"))
		if os.Geteuid() == 0 {
			options = append(options, chromedp.NoSandbox) // root has none
		}
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		atEnd = append(atEnd, stop)
		browser, stop = chromedp.NewContext(ctx)
		atEnd = append(atEnd, stop)
		if failed = chromedp.Do(browser); failed != nil {
			failed = fmt.Errorf("start %s: %w", path, failed)
		}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	return browser
}

var (
	started sync.Once
	browser context.Context
	failed  error // why the browser did not start
)
