//go:build !race

package browsertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// clickText clicks the first visible button with a text.
func (x *tab) clickText(words string) {
	x.t.Helper()
	x.wait("there is a button "+words, `[...document.querySelectorAll('button')].some(b => b.checkVisibility() && b.textContent === `+quote(words)+` && (b.dataset.clickMe = '1'))`)
	x.click("[data-click-me]")
	eval[bool](x, `(document.querySelectorAll('[data-click-me]').forEach(b => delete b.dataset.clickMe), true)`)
}

// TestWorkbench adds two hosts and an expression, copies the command, and runs what was copied; then
// it saves a dashboard, which home shows.
func TestWorkbench(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.open("/workbench?from=-6h")
	x.settle()
	for _, host := range []string{"web01", "web02"} {
		x.click(".finder input")
		x.key(host + " ping")
		x.wait("the series is found", `document.querySelectorAll('.finder [role=option]').length === 1 && document.querySelector('.finder [aria-selected=true]').textContent.includes(`+quote(host)+`)`)
		x.key(kb.Enter)
		x.wait("the address has it", `decodeURIComponent(location.search).includes(`+quote("collectd/"+host+"/ping/ping-gateway")+`)`)
		x.settle()
	}
	x.clickText("Add an expression")
	x.wait("the expression has the cursor", `document.activeElement.closest('.bench-rows') && document.activeElement.value === 'a,b,+'`)
	eval[bool](x, `(document.activeElement.select(), true)`)
	x.key("a,b,-")
	x.key(kb.Enter)
	x.wait("the address has what was typed", `new URLSearchParams(location.search).get('g').includes('a,b,-')`)
	x.charts(1)
	x.wait("three lines are in the legend", `document.querySelectorAll('.legend tbody tr').length === 3`)
	x.keep("workbench-three")

	eval[bool](x, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`)
	x.clickText("Copy as rrdtool graph")
	x.wait("the command is copied", "window.copied")
	runCopied(t, s, eval[string](x, "window.copied"))

	x.clickText("Add to dashboard")
	x.wait("a dialog asks for the name", `document.querySelector('dialog[open] input[required]')`)
	x.click("dialog[open] input[required]")
	x.key("night-shift")
	x.key(kb.Enter)
	x.wait("the dashboard is shown", `location.pathname === '/dashboard/night-shift'`)
	x.charts(1)
	x.keep("dashboard")
	x.open("/")
	x.wait("home leads to it", `document.querySelector('main a[href="/dashboard/night-shift"]')`)
	x.click(`main a[href="/dashboard/night-shift"]`)
	x.charts(1)
}

// runCopied runs a copied command as it is, and with rrdtool in rondo's place.
func runCopied(t *testing.T, s *server, command string) {
	t.Helper()
	if !strings.HasPrefix(command, "rondo graph graph.png ") {
		t.Fatalf("copied is %q", command)
	}
	files := filepath.Join(t.TempDir(), "files")
	for _, name := range []string{"collectd/web01/ping/ping-gateway", "collectd/web02/ping/ping-gateway"} {
		s.rondo(t, "export", "--to", files, name)
		if err := os.Rename(filepath.Join(files, name+".rrd"), filepath.Join(files, name)); err != nil {
			t.Fatal(err)
		}
	}
	shell := func(command string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir = files
		cmd.Env = append(os.Environ(), "RONDO_DB="+s.db, "PATH="+filepath.Dir(program(t))+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%v\n%s", command, err, out)
		}
		picture, err := os.ReadFile(filepath.Join(files, "graph.png"))
		if err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG\r\n")) {
			t.Errorf("%s\nmade no picture: %v", command, err)
		}
	}
	shell(command)
	if path, err := exec.LookPath("rrdtool"); err == nil {
		shell(path + strings.TrimPrefix(command, "rondo"))
	} else if rrdtooltest.Required() {
		t.Error("rrdtool is not installed")
	}
}
