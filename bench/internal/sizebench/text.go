// Package sizebench shows what stores of several sizes cost, as a table and as a picture.
package sizebench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A per says of what a figure is.
type per int

const (
	perSize   per = iota // of the whole store: the picture divides it by the series
	perSeries            // of a series, a sample or a call
	perSecond            // depends on what else the machine does: not in the picture
)

// A cost is a figure of a Size as a table and a picture show it.
type cost struct {
	name string
	unit string
	of   func(*Size) float64
	per  per // how the picture shows it
}

var costs = []cost{
	{"created", "series a second", func(s *Size) float64 { return float64(s.Series) / s.CreateSeconds }, perSecond},
	{"created, CPU", "µs a series", func(s *Size) float64 { return s.CreateCPUSeconds / float64(s.Series) * 1e6 }, perSeries},
	{"created, peak memory", "MB", func(s *Size) float64 { return float64(s.CreatePeakBytes) / 1e6 }, perSize},
	{"ingest", "samples a second", func(s *Size) float64 { return float64(s.Samples) / s.IngestSeconds }, perSecond},
	{"ingest, CPU", "s a million samples", func(s *Size) float64 { return s.IngestCPUSeconds / float64(s.Samples) * 1e6 }, perSeries},
	{"acknowledged, p99", "ms", func(s *Size) float64 { return s.AckP99Seconds * 1e3 }, perSecond},
	{"longest checkpoint", "s", func(s *Size) float64 { return s.CheckpointMaxSeconds }, perSize},
	{"ingest, peak memory", "MB", func(s *Size) float64 { return float64(s.IngestPeakBytes) / 1e6 }, perSize},
	{"on disk", "MB", func(s *Size) float64 { return float64(s.DiskBytes) / 1e6 }, perSize},
	{"open", "s", func(s *Size) float64 { return s.OpenSeconds }, perSecond},
	{"open, CPU", "s", func(s *Size) float64 { return s.OpenCPUSeconds }, perSize},
	{"list", "s", func(s *Size) float64 { return s.ListSeconds }, perSecond},
	{"list, CPU", "s", func(s *Size) float64 { return s.ListCPUSeconds }, perSize},
	{"select one host, p50", "µs", func(s *Size) float64 { return s.SelectP50Seconds * 1e6 }, perSeries},
	{"select a hundredth of all", "ms", func(s *Size) float64 { return s.SelectInstanceSeconds * 1e3 }, perSize},
}

// Write writes a table with a column for each size.
func Write(w io.Writer, sizes []Size) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := []string{"series"}
	for i := range sizes {
		row = append(row, grouped(sizes[i].Series))
	}
	_, _ = fmt.Fprintln(t, strings.Join(row, "\t")+"\t") // Flush returns the error
	for _, c := range costs {
		row = append(row[:0], c.name+", "+c.unit)
		for i := range sizes {
			row = append(row, rounded(c.of(&sizes[i])))
		}
		_, _ = fmt.Fprintln(t, strings.Join(row, "\t")+"\t") // as above
	}
	return t.Flush()
}

// rounded returns v with three digits, or as a whole number.
func rounded(v float64) string {
	if v >= 100 {
		return grouped(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// grouped returns n with a comma after each group of three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The picture, in pixels.
const (
	sizesWidth, sizesHeight = 780, 420
	plotLeft, plotRight     = 60, 470
	plotTop, plotBottom     = 40, 370
	sizesDecades            = 2 // above 1, and as many below
)

var sizesColours = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#000000"}

// WriteSVG draws what a series costs at each size, as a multiple of what it costs at the
// first. Both axes are logarithmic. What grows as the number of series does is a level line.
func WriteSVG(w io.Writer, sizes []Size) error {
	if len(sizes) < 2 {
		return fmt.Errorf("bench: a picture needs two sizes, not %d", len(sizes))
	}
	var b strings.Builder
	p := func(format string, args ...any) {
		_, _ = fmt.Fprintf(&b, format+"\n", args...) // a Builder does not fail
	}
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, sizesWidth, sizesHeight)
	p(`<rect width="100%%" height="100%%" fill="white"/>`)
	p(`<text x="%d" y="20" font-size="14">What a series costs, as a multiple of what it costs among %s</text>`, plotLeft, grouped(sizes[0].Series))
	first, last := math.Log10(float64(sizes[0].Series)), math.Log10(float64(sizes[len(sizes)-1].Series))
	x := func(s *Size) float64 {
		return plotLeft + (math.Log10(float64(s.Series))-first)/(last-first)*(plotRight-plotLeft)
	}
	y := func(v float64) float64 {
		at := min(max(math.Log10(v), -sizesDecades), sizesDecades)
		return plotBottom - (at+sizesDecades)/(2*sizesDecades)*(plotBottom-plotTop)
	}
	for d := -sizesDecades; d <= sizesDecades; d++ {
		v := math.Pow10(d)
		colour := "#dddddd"
		if d == 0 {
			colour = "#555555"
		}
		p(`<path d="M%d %.1fH%d" stroke="%s"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`, plotLeft, y(v), plotRight, colour, plotLeft-8, y(v)+4, v)
	}
	for i := range sizes {
		s := &sizes[i]
		p(`<path d="M%.1f %dV%d" stroke="#dddddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`,
			x(s), plotTop, plotBottom, x(s), plotBottom+18, grouped(s.Series))
	}
	p(`<text x="%d" y="%d" text-anchor="middle">series</text>`, (plotLeft+plotRight)/2, plotBottom+38)
	k := 0
	for _, c := range costs {
		if c.per == perSecond {
			continue
		}
		colour := sizesColours[k%len(sizesColours)]
		var points []string
		for i := range sizes {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(&sizes[i]), y(c.multiple(&sizes[i], &sizes[0]))))
		}
		p(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"><title>%s</title></polyline>`, strings.Join(points, " "), colour, c.name)
		p(`<path d="M%d %dh24" stroke="%s" stroke-width="2"/><text x="%d" y="%d">%s: ×%s</text>`,
			plotRight+20, plotTop+10+k*24, colour, plotRight+52, plotTop+14+k*24, c.name, rounded(c.multiple(&sizes[len(sizes)-1], &sizes[0])))
		k++
	}
	p(`</svg>`)
	_, err := io.WriteString(w, b.String())
	return err
}

// multiple returns what a series costs in s, divided by what it costs in first.
func (c *cost) multiple(s, first *Size) float64 {
	v := c.of(s) / c.of(first)
	if c.per == perSize {
		v *= float64(first.Series) / float64(s.Series)
	}
	return v
}
