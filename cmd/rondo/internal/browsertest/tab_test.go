//go:build !race

package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A tab is a window of its own: it shares no storage with the tabs of other tests.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // the server's address, without a slash at its end

	silenced bool // scripts are forbidden

	mu       sync.Mutex
	wrong    []string                           // what must not happen: errors, warnings, strangers, breaches of the policy
	requests []string                           // addresses below base
	awaited  map[network.RequestID]cdp.LoaderID // requests without an end, and the page of each
	expected []*regexp.Regexp
}

// A size is the size of a window in CSS pixels.
type size struct {
	name          string
	width, height int64
	phone         bool
}

var (
	phone  = size{"phone", 390, 844, true}
	laptop = size{"laptop", 1280, 800, false}
	screen = size{"screen", 1920, 1080, false}
)

// newTab opens an empty window of the size of a laptop for pages of the server at base. What goes
// wrong in it until the end of the test fails the test.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	return watch(t, ctx, base)
}

// another opens a further window that shares the storage of this one, as a second tab does.
func (x *tab) another() *tab {
	x.t.Helper()
	id := chromedp.FromContext(x.ctx).BrowserContextID
	ctx, closeTab := chromedp.NewContext(chromium(x.t), chromedp.WithExistingBrowserContext(id))
	x.t.Cleanup(closeTab)
	return watch(x.t, ctx, x.base)
}

// watch collects what goes wrong in a new window, and says it when the test ends.
func watch(t *testing.T, ctx context.Context, base string) *tab {
	t.Helper()
	x := &tab{t: t, ctx: ctx, base: base, awaited: make(map[network.RequestID]cdp.LoaderID)}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, x.see); err != nil {
		t.Fatal(err)
	}
	x.must(chromedp.Func(func(ctx context.Context, s *chromedp.Target) error {
		return s.Call(ctx, audits.CommandEnable, nil, nil)
	}))
	x.resize(laptop)
	t.Cleanup(func() {
		if t.Failed() {
			x.keep("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, w := range x.wrong {
			t.Error(w)
		}
	})
	return x
}

// see notes an event of the browser.
func (x *tab) see(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" || ev.Type == "assert" {
			text := make([]string, len(ev.Args))
			for i, a := range ev.Args {
				text[i] = string(a.Value) + a.Description
			}
			x.blame("console.%s: %s", ev.Type, strings.Join(text, " "))
		}
	case *runtime.EventExceptionThrown:
		d := ev.ExceptionDetails
		text := d.Text
		if d.Exception != nil {
			text += " " + d.Exception.Description
		}
		x.blame("exception at %s:%d: %s", d.URL, d.LineNumber+1, text)
	case *cdplog.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			x.blame("%s (%s): %s %s", ev.Entry.Level, ev.Entry.Source, ev.Entry.Text, ev.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if d := ev.Issue.Details.ContentSecurityPolicyIssueDetails; d != nil {
			where := ""
			if l := d.SourceCodeLocation; l != nil {
				where = fmt.Sprintf(" at %s:%d", l.URL, l.LineNumber+1)
			}
			x.blame("against the security policy: %s %s%s", d.ViolatedDirective, d.BlockedURL, where)
		}
	case *network.EventRequestWillBeSent:
		at := ev.Request.URL
		switch below, ok := strings.CutPrefix(at, x.base+"/"); {
		case ok:
			x.mu.Lock()
			x.requests = append(x.requests, "/"+below)
			x.awaited[ev.RequestID] = ev.LoaderID
			x.mu.Unlock()
		case !strings.HasPrefix(at, "data:") && !strings.HasPrefix(at, "blob:"+x.base) && at != "about:blank":
			x.blame("a request off the host: %s", at)
		}
	case *page.EventFrameNavigated:
		if ev.Frame.ParentID == "" {
			x.forget(ev.Frame.LoaderID)
		}
	case *network.EventLoadingFinished:
		x.ended(ev.RequestID)
	case *network.EventLoadingFailed:
		x.ended(ev.RequestID)
	}
}

// forget awaits no request of the pages before: the browser does not report the end of requests
// that a page had made until it was left.
func (x *tab) forget(now cdp.LoaderID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.awaited, func(_ network.RequestID, of cdp.LoaderID) bool { return of != now })
}

func (x *tab) ended(id network.RequestID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.awaited, id)
}

func (x *tab) blame(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.expected {
		if e.MatchString(text) {
			return
		}
	}
	x.wrong = append(x.wrong, text)
}

// expect says which errors the test provokes.
func (x *tab) expect(pattern string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.expected = append(x.expected, regexp.MustCompile(pattern))
}

// must runs actions, within patience.
func (x *tab) must(actions ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		x.t.Fatalf("%v (at %s)", err, x.address())
	}
}

// open goes to a path of the server, and returns when the page has loaded.
func (x *tab) open(path string) {
	x.t.Helper()
	x.must(chromedp.Navigate(x.base + path))
}

// address returns where the tab is, below the server's address.
func (x *tab) address() string {
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href"))
	if err != nil {
		return "nowhere: " + err.Error()
	}
	return strings.TrimPrefix(at, x.base)
}

// query returns a value of the query of the address.
func (x *tab) query(name string) string {
	x.t.Helper()
	at, err := url.Parse(x.address())
	if err != nil {
		x.t.Fatal(err)
	}
	return at.Query().Get(name)
}

// eval returns the value of a JavaScript expression; a promise is awaited.
func eval[T any](x *tab, expression string) T {
	x.t.Helper()
	v, err := try[T](x, expression)
	if err != nil {
		x.t.Fatalf("%s: %v (at %s)", expression, err, x.address())
	}
	return v
}

func try[T any](x *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
}

// wait returns when a JavaScript expression is true. The expression may fail while a page loads.
// what says what is waited for.
func (x *tab) wait(what, expression string) {
	x.t.Helper()
	var last error
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var ok bool
		if ok, last = try[bool](x, "!!("+expression+")"); ok && last == nil {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	text, _ := try[string](x, "document.body.innerText.slice(0, 2000)") // for the message alone
	x.t.Fatalf("never so: %s (%s; %v), at %s, where one reads:\n%s", what, expression, last, x.address(), text)
}

// settle returns when the page has loaded, every request has ended, and what came has been drawn.
func (x *tab) settle() {
	x.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		before := x.silent()
		err := x.frames()
		if done, _ := try[bool](x, `document.readyState === 'complete'`); err == nil && done && before >= 0 && x.silent() == before {
			return
		}
		if time.Now().After(deadline) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.t.Fatalf("the page does not come to rest: %d requests have no end, the last was %s", len(x.awaited), x.requests[len(x.requests)-1])
		}
	}
}

// frames returns when the page was drawn twice.
func (x *tab) frames() error {
	if x.silenced {
		ctx, cancel := context.WithTimeout(x.ctx, patience)
		defer cancel()
		_, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()) // which has it drawn
		return err
	}
	_, err := try[bool](x, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true)))))`)
	return err
}

// silent returns how many requests were made until now, or -1 while one of them has no end.
func (x *tab) silent() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.awaited) > 0 {
		return -1
	}
	return len(x.requests)
}

// charts waits until the page has settled and at least n charts are drawn.
func (x *tab) charts(n int) {
	x.t.Helper()
	x.wait(fmt.Sprintf("%d charts or more", n), fmt.Sprintf("document.querySelectorAll('.chart canvas').length >= %d", n))
	x.settle()
}

// key presses keys, one after the other, as a person would: "/", "load", kb.Enter.
func (x *tab) key(keys string, options ...chromedp.KeyOption) {
	x.t.Helper()
	for _, r := range keys {
		if k, ok := kb.Keys[r]; ok && !k.Print || len(options) > 0 {
			x.must(chromedp.KeyEvent(string(r), options...))
			continue
		}
		// One event with the text, so that a page which takes the key keeps it out of its boxes.
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			p := input.DispatchKeyEventParams{Type: kind, Key: string(r)}
			if kind == input.DispatchKeyEventTypeKeyDown {
				p.Text = string(r)
			}
			ctx, cancel := context.WithTimeout(x.ctx, patience)
			_, err := chromedp.Call(ctx, input.DispatchKeyEvent, p)
			cancel()
			if err != nil {
				x.t.Fatal(err)
			}
		}
	}
}

// click clicks the middle of the first visible element of a CSS selector.
func (x *tab) click(selector string) {
	x.t.Helper()
	b := x.box(selector)
	x.must(chromedp.MouseClickXY(b.X+b.W/2, b.Y+b.H/2))
}

// A box is the place of an element in the window, in CSS pixels.
type box struct{ X, Y, W, H float64 }

// box brings the first visible element of a selector into the window and returns its place when it
// has stopped moving.
func (x *tab) box(selector string) box {
	x.t.Helper()
	visible := fmt.Sprintf(`[...document.querySelectorAll(%s)].find(e => e.checkVisibility() && e.getClientRects().length)`, quote(selector))
	x.wait("an element "+selector+" is visible", visible)
	place := func() (b box) {
		b = eval[box](x, fmt.Sprintf(`(() => { const e = %s; if (!e) return {X: 0, Y: 0, W: 0, H: 0};
			e.scrollIntoView({block: 'nearest', behavior: 'instant'});
			const r = e.getBoundingClientRect(); return {X: r.x, Y: r.y, W: r.width, H: r.height}; })()`, visible))
		return b
	}
	b := place()
	for deadline := time.Now().Add(patience); ; {
		if err := x.frames(); err != nil {
			x.t.Fatal(err)
		}
		again := place()
		if again == b && b.W > 0 {
			return b
		}
		b = again
		if time.Now().After(deadline) {
			x.t.Fatalf("%s does not come to rest (at %s)", selector, x.address())
		}
	}
}

// quote returns a text as a JavaScript literal.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be marshalled
	}
	return string(b)
}

// resize gives the window a size.
func (x *tab) resize(s size) {
	x.t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if s.phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait, chromedp.EmulateScale(2))
	}
	x.must(chromedp.EmulateViewport(s.width, s.height, options...))
}

// scheme makes the system prefer "dark" or "light".
func (x *tab) scheme(name string) {
	x.t.Helper()
	x.must(chromedp.Func(func(ctx context.Context, s *chromedp.Target) error {
		return s.Call(ctx, emulation.CommandSetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		}, nil)
	}))
}

// scripts allows or forbids scripts in pages that are opened from now on.
func (x *tab) scripts(allowed bool) {
	x.t.Helper()
	x.silenced = !allowed
	x.must(chromedp.Func(func(ctx context.Context, s *chromedp.Target) error {
		return s.Call(ctx, emulation.CommandSetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !allowed}, nil)
	}))
}

// keep photographs the window into a file of the folder that RONDO_SHOTS names.
func (x *tab) keep(name string) {
	x.t.Helper()
	x.photograph(name, chromedp.CaptureScreenshot())
}

// keepWhole photographs the page with what is below the window.
func (x *tab) keepWhole(name string) {
	x.t.Helper()
	x.photograph(name, chromedp.FullScreenshot(100))
}

func (x *tab) photograph(name string, take chromedp.Action[[]byte]) {
	x.t.Helper()
	dir := os.Getenv("RONDO_SHOTS")
	if dir == "" {
		dir = filepath.Join(work, "shots")
	}
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, take)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		x.t.Errorf("photograph %s: %v", name, err)
	}
}
