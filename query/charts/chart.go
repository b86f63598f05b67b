package charts

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A Series is a series that charts are made of.
type Series struct {
	Path    string
	Folder  string // the folder above that is about its host; may be empty
	Sources []Source
	CFs     []string // the consolidation functions of its archives
	Unit    string   // as its sender says; may be empty
	Title   string   // likewise
	Group   string   // likewise
	Metric  string   // the name that Prometheus gives it; may be empty
	Labels  []Label
}

// A Label is a name and a value that distinguish series of one metric.
type Label struct{ Name, Value string }

// A Source is a data source of a series.
type Source struct {
	Name string
	Rate bool // its values are changes a second
}

// A Chart is several data sources that are looked at together.
type Chart struct {
	ID    string // stays the same while the series do
	Title string
	Group string // the heading under which it stands
	Unit  string
	Base  int // 1000, or 1024 for bytes of memory
	// Limits of the values shown; NaN where the values decide.
	Lower, Upper float64
	Stack        bool
	Percent      bool // values are shown as shares of their sum
	Lines        []Line
}

// A Line is a data source in a chart. Its value is the stored value times Factor plus Offset.
type Line struct {
	Path, DS, Label string
	Factor, Offset  float64
	Style           string // line, area or band
	Color           string // #rrggbb
	// The consolidation functions to fetch; MaxCF and MinCF are empty if the series lacks them.
	CF, MaxCF, MinCF string
	// Restart says that the line begins a stack of its own.
	Restart bool

	order int // its place in the recipe
}

// The styles of a line.
const (
	styleLine = "line"
	styleArea = "area"
	styleBand = "band"
)

// line returns a line that shows a data source under a label.
func (s *Series) line(ds, label string) Line {
	l := Line{Path: s.Path, DS: ds, Label: label, Factor: 1, Style: styleLine, CF: s.CFs[0]}
	if slices.Contains(s.CFs, "AVERAGE") {
		l.CF = "AVERAGE"
	}
	if slices.Contains(s.CFs, "MAX") {
		l.MaxCF = "MAX"
	}
	if slices.Contains(s.CFs, "MIN") {
		l.MinCF = "MIN"
	}
	return l
}

// none stands for a limit that is not given.
var none = math.NaN()

// The colours that recipes name. Lines without a colour get the colours of palette in turn.
const (
	blue, green, orange, red  = "#3b78d8", "#3fa66b", "#f0a13a", "#d9534f"
	purple, pink, teal, brown = "#8e63ce", "#d65fb8", "#2aa5a0", "#9c6b43"
	gray, pale, olive, sky    = "#6b7280", "#c9d1d9", "#9aa83a", "#6fb7e8"
)

var palette = []string{blue, orange, green, red, purple, teal, pink, olive, sky, brown, gray, "#e8c547"}

// natural compares texts as people sort them: numbers in them by their value.
func natural(a, b string) int {
	for a != "" && b != "" {
		m, n := leading(a), leading(b)
		if m > 0 && n > 0 {
			x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), cmp.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// leading returns how many digits a text begins with.
func leading(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
