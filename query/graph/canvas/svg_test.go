package canvas

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// wellFormed fails unless data is XML without scripts, and returns its names of elements and all
// text.
func wellFormed(t *testing.T, data []byte) (elements map[string]int, text string) {
	t.Helper()
	elements = map[string]int{}
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, b.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			for _, a := range token.Attr {
				if name := strings.ToLower(a.Name.Local); strings.HasPrefix(name, "on") || name == "href" || name == "style" {
					t.Errorf("an element %s has the attribute %s", token.Name.Local, a.Name.Local)
				}
			}
		case xml.CharData:
			b.Write(token)
		}
	}
}

func TestSVGSample(t *testing.T) {
	data := encoded(t, SVG, 2, sample)
	keep(t, "sample.svg", data)
	elements, text := wellFormed(t, data)
	for _, want := range []string{"Hello World quick brown", `&<>"'`, "an <area> & more", "π→≤∞ Жя"} {
		if !strings.Contains(text, want) {
			t.Errorf("the texts lack %q", want)
		}
	}
	if elements["svg"] != 2 || elements["g"] != 2 || elements["title"] != 1 {
		t.Errorf("elements: %v", elements)
	}
	if !bytes.Contains(data, []byte(`width="962pt" height="440pt" viewBox="0 0 481 220"`)) {
		t.Errorf("the picture begins with %.200s", data)
	}
}

// TestSVGNested draws parts within parts, with and without names, and a part without a place.
func TestSVGNested(t *testing.T) {
	data := encoded(t, SVG, 1, func(c Canvas) {
		c.Group("a", "", func() {
			c.Clip(Rect{Point{0, 0}, Point{10, 10}}, func() {
				c.Group("", "", func() { c.Fill(rgba(0, 0, 0, 255), []Point{{0, 0}, {1, 0}, {1, 1}}) })
			})
		})
		c.Clip(Rect{Point{5, 5}, Point{5, 5}}, func() {})
	})
	if elements, _ := wellFormed(t, data); elements["svg"] != 3 || elements["g"] != 2 {
		t.Errorf("%v elements in\n%s", elements, data)
	}
}

// TestGradientsHaveNoSeams: upright columns beside each other are drawn with crisp edges. Where a
// browser put their edge into a pixel, what is behind them shone through.
func TestGradientsHaveNoSeams(t *testing.T) {
	for _, tt := range []struct {
		name  string
		path  []Point
		crisp bool
	}{
		{"upright", []Point{{10, 20}, {11, 20}, {11, 50}, {10, 50}}, true},
		{"sloping", []Point{{10, 20}, {11, 25}, {11, 50}, {10, 50}}, false},
	} {
		c, err := New(SVG, 100, 80, 1, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Gradient(tt.path, 20, rgba(255, 0, 0, 255), 50, rgba(0, 0, 255, 255))
		var out bytes.Buffer
		if err := c.Encode(&out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), `crispEdges" d="M10 20`); got != tt.crisp || !strings.Contains(out.String(), "M10 20") {
			t.Errorf("%s: crisp edges: %v in\n%s", tt.name, got, out.String())
		}
	}
}
