//go:build !race

package browsertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// background is the colour of the page as a list of red, green and blue.
const background = `getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).slice(0, 3).map(Number)`

// dark reports whether the page is dark.
func (x *tab) dark() bool {
	x.t.Helper()
	sum := 0.0
	for _, c := range eval[[]float64](x, background) {
		sum += c
	}
	return sum < 3*128
}

// TestDarkAndLight: the page follows the system, and a switch overrules it, here and after it was
// loaded again.
func TestDarkAndLight(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	x.scheme("light")
	x.open("/host/collectd/web01")
	x.charts(1)
	if x.dark() {
		t.Error("the system is light, the page dark")
	}
	x.scheme("dark")
	x.wait("the page follows the system", background+".reduce((a, b) => a + b) < 384")
	const button = `[aria-label^="Theme"]`
	for range 3 {
		if !x.dark() {
			break
		}
		x.click(button)
		x.settle()
	}
	if x.dark() {
		t.Fatal("the switch does not make the page light")
	}
	x.open("/status")
	x.settle()
	if x.dark() {
		t.Error("the choice is forgotten")
	}
}

// nameless are the roles of what a person operates, and of what stands for a picture.
var nameless = []string{"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "slider", "spinbutton", "switch", "tab", "menuitem", "option", "image", "img", "dialog", "table", "listbox"}

// TestEverythingHasAName: a screen reader can say what every control and every picture is.
func TestEverythingHasAName(t *testing.T) {
	s := hosting(t)
	x := newTab(t, s.url)
	for _, p := range pages {
		x.open(p.path)
		x.settle()
		tree, err := chromedp.Call(x.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		seen, headings, main := 0, 0, 0
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			switch role := text(n.Role); {
			case slices.Contains(nameless, role):
				seen++
				if strings.TrimSpace(text(n.Name)) == "" {
					t.Errorf("%s: a %s has no name: %s", p.path, role, x.markup(n))
				}
			case role == "heading":
				headings++
			case role == "main":
				main++
			}
		}
		if seen < 5 || headings < 1 || main != 1 {
			t.Errorf("%s: %d controls, %d headings, %d main parts", p.path, seen, headings, main)
		}
	}
}

func text(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}

// markup returns the beginning of an element's markup, for a message.
func (x *tab) markup(n *accessibility.Node) string {
	var out struct {
		OuterHTML string `json:"outerHTML"`
	}
	err := chromedp.Do(x.ctx, chromedp.Func(func(ctx context.Context, s *chromedp.Target) error {
		return s.Call(ctx, "DOM.getOuterHTML", map[string]any{"backendNodeId": n.BackendDOMNodeID}, &out)
	}))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.200s", out.OuterHTML)
}
