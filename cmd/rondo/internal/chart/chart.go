package chart

import "time"

// A Chart is what Draw draws.
type Chart struct {
	Title string
	// Notes stand behind the title where there is room. The last one is the most important.
	Notes      []string
	Start, End int64 // seconds since 1970; the chart shows (Start, End]
	Location   *time.Location
	Lines      []Line

	Width, Height int      // cells, with title, axes and legend
	Lower, Upper  *float64 // limits of the value axis; nil: the values decide
	Log, Stack    bool
	Binary        bool // prefixes are Ki, Mi, Gi
	ASCII         bool // no other characters
	Plain         bool // no colours: lines differ by dashes
	NoLegend      bool
}

// The least size that Draw draws in.
const (
	LeastWidth  = 24
	LeastHeight = 6
)

func (c *Chart) units() Units { return Units{c.Binary, c.ASCII} }

// ellipsis stands for what is left out of a text.
func (c *Chart) ellipsis() string {
	if c.ASCII {
		return ".."
	}
	return "…"
}
