package enginebench

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestSizesAreMeasuredAndShown(t *testing.T) {
	c := testConfig(t)
	var sizes []Size
	for _, c.Series = range []int{100, 400} {
		c.Readings = 7
		s, err := MeasureSize(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if s.Series != c.Series || s.Samples != 7*c.Series {
			t.Errorf("%d samples of %d series, want %d of %d", s.Samples, s.Series, 7*c.Series, c.Series)
		}
		for _, f := range costs {
			if f.of(&s) <= 0 {
				t.Errorf("%s is %v", f.name, f.of(&s))
			}
		}
		sizes = append(sizes, s)
		if err := os.RemoveAll(c.Dir); err != nil {
			t.Fatal(err)
		}
	}
	var table, picture strings.Builder
	if err := errors.Join(WriteSizes(&table, sizes), WriteSizesSVG(&picture, sizes)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(table.String()), "\n"); len(lines) != len(costs)+1 || strings.Join(strings.Fields(lines[0]), " ") != "series 100 400" {
		t.Errorf("table:\n%s", table.String())
	}
	lines := 0
	for d := xml.NewDecoder(strings.NewReader(picture.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != len(sizesColours) {
		t.Errorf("%d lines of %d colours", lines, len(sizesColours))
	}
}

// What grows as the number of series does is a level line, and what grows faster rises.
func TestMultipleOfSize(t *testing.T) {
	small, large := Size{Series: 10, DiskBytes: 50, SelectP50Seconds: 1}, Size{Series: 1000, DiskBytes: 10_000, SelectP50Seconds: 1}
	for _, x := range []struct {
		name string
		want float64
	}{{"on disk", 2}, {"select one host, p50", 1}} {
		for _, c := range costs {
			if c.name == x.name && c.multiple(&large, &small) != x.want {
				t.Errorf("%s: ×%v, want ×%v", c.name, c.multiple(&large, &small), x.want)
			}
		}
	}
}
