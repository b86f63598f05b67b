//go:build !race

package browsertest

import (
	"slices"
	"strings"
	"testing"
)

// asked returns the methods that pages of the tab have called, in order.
func (x *tab) asked() (methods []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.requests {
		if method, ok := strings.CutPrefix(r, "/rondo.v1.Rondo/"); ok {
			methods = append(methods, method)
		}
	}
	return methods
}

// TestFirstQuestion: the rows of a chart are the first thing that a page asks for. What it has to
// know before that came with the page.
func TestFirstQuestion(t *testing.T) {
	s := hosting(t)
	for _, c := range []struct {
		path  string
		never []string
	}{
		{"/series/collectd/web01/load/load?from=-1y", []string{"Info"}},
		{"/host/collectd/web01?from=-2d&to=-1d", []string{"Charts", "Tree"}},
		{"/", []string{"Tree"}},
	} {
		x := newTab(t, s.url)
		x.open(c.path)
		x.settle()
		x.wait("something is drawn", "document.querySelector('main canvas')")
		x.settle()
		got := x.asked()
		if len(got) == 0 || got[0] != "FetchMany" {
			t.Errorf("%s asks for %v", c.path, got)
		}
		// Later a live page asks for the news of all that.
		for _, method := range c.never {
			if i := slices.Index(got, method); i >= 0 && i < 3 {
				t.Errorf("%s asks for %v", c.path, got)
			}
		}
	}
}
