package chart

import (
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/quantity"
)

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
	Unit          string
	Binary        bool // prefixes are Ki, Mi, Gi, as they are for B
	ASCII         bool // no other characters
	Plain         bool // no colours: lines differ by dashes
	NoLegend      bool
}

// The least size that Draw draws in.
const (
	LeastWidth  = 24
	LeastHeight = 6
)

// in returns the scale of values.
func (c *Chart) in(values ...float64) quantity.Scale {
	base := 0
	if c.Binary {
		base = 1024
	}
	return quantity.Of(c.Unit, base, values...)
}

var common = strings.NewReplacer("µ", "u", "°", "", "∞", "Inf")

// text returns a text of package quantity as the chart shows it.
func (c *Chart) text(s string) string {
	if s = quantity.Plain(s); c.ASCII {
		return common.Replace(s)
	}
	return s
}

// ellipsis stands for what is left out of a text.
func (c *Chart) ellipsis() string {
	if c.ASCII {
		return ".."
	}
	return "…"
}
