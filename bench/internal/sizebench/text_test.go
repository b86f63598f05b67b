package sizebench

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestSizesAreShown(t *testing.T) {
	var sizes []Size
	for _, n := range []int{100, 400} {
		sizes = append(sizes, Size{
			Series: n, Samples: 7 * n, CreateSeconds: 1, CreateCPUSeconds: 1, CreatePeakBytes: 1 << 20, IngestSeconds: 1, IngestCPUSeconds: 1,
			IngestPeakBytes: 1 << 20, AckP99Seconds: 1, CheckpointMaxSeconds: 1, DiskBytes: 1 << 20, OpenSeconds: 1, OpenCPUSeconds: 1,
			ListSeconds: 1, ListCPUSeconds: 1, SelectP50Seconds: 1, SelectInstanceSeconds: 1,
		})
	}
	var table, picture strings.Builder
	if err := errors.Join(Write(&table, sizes), WriteSVG(&picture, sizes)); err != nil {
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
