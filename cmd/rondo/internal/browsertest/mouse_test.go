//go:build !race

package browsertest

import (
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// plot is the part of a chart that listens to the pointer.
const plot = ".chart-plot"

// drag presses the mouse at a part of an element, 0.5 being its middle, and lets it go at another
// part, on one height. Below is the height: 0 is the top of the element, 1 its bottom.
func (x *tab) drag(selector string, from, to, below float64) {
	x.t.Helper()
	b := x.box(selector)
	x1, x2, y := b.X+b.W*from, b.X+b.W*to, b.Y+b.H*below
	steps := []chromedp.Action[chromedp.Void]{
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x1, y),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x1, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
	}
	for i := range 5 {
		at := x1 + (x2-x1)*float64(i+1)/5
		steps = append(steps, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at, y, chromedp.ButtonLeft))
	}
	steps = append(steps, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x2, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	x.must(steps...)
}

// doubleClick clicks twice in the middle of an element.
func (x *tab) doubleClick(selector string) {
	x.t.Helper()
	b := x.box(selector)
	x.must(chromedp.MouseClickXY(b.X+b.W/2, b.Y+b.H/2), chromedp.MouseClickXY(b.X+b.W/2, b.Y+b.H/2, chromedp.ClickCount(2)))
}

// shift holds the key Shift down.
var shift = chromedp.KeyModifiers(chromedp.ModifierShift)

// hover moves the mouse over a part of an element.
func (x *tab) hover(selector string, part, below float64) {
	x.t.Helper()
	b := x.box(selector)
	x.must(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, b.X+b.W*part, b.Y+b.H*below))
}
