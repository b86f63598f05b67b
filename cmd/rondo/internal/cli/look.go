package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
)

// The size of a drawing where there is no terminal, in cells.
const (
	pipeWidth  = 80
	pipeHeight = 24
)

// MostLines is how many lines a drawing has at most.
const MostLines = 40

// Whens are the values of --color, and of --band of a plot.
var Whens = []string{"auto", "always", "never"}

// LookFlags are the flags that say what a drawing looks like.
type LookFlags struct {
	Width, Height int // 0: the terminal's
	ASCII         bool
	Color         string // one of whens
}

// AddTo adds the flags to a command. what is drawn: a chart.
func (f *LookFlags) AddTo(cmd *cobra.Command, what string) {
	set := cmd.Flags()
	set.IntVar(&f.Width, "width", 0, "`columns` of the "+what+" (default: the terminal's)")
	set.IntVar(&f.Height, "height", 0, "`lines` of the "+what+" with title and legend (default: the terminal's)")
	set.BoolVar(&f.ASCII, "ascii", false, "draw with ASCII characters only (default: if the locale is not UTF-8)")
	AddChoice(cmd, &f.Color, Whens[0], "color", "", Whens, "`when` to use colours: auto, always or never")
}

// Check refuses flags without meaning.
func (f *LookFlags) Check(set *pflag.FlagSet) error {
	switch {
	case set.Changed("width") && (f.Width < chart.LeastWidth || f.Width > 1000):
		return fmt.Errorf("--width %d: want %d to 1000", f.Width, chart.LeastWidth)
	case set.Changed("height") && (f.Height < chart.LeastHeight || f.Height > 1000):
		return fmt.Errorf("--height %d: want %d to 1000", f.Height, chart.LeastHeight)
	}
	return nil
}

// A Look is what drawings of a command look like.
type Look struct {
	Width, Height int
	ASCII         bool
	Colors        chart.Colors
}

// Look returns the look of a drawing that is printed to w.
func (p *Process) Look(w io.Writer, f LookFlags) Look {
	l := Look{Width: pipeWidth, Height: pipeHeight, ASCII: f.ASCII || !p.UTF8(), Colors: p.colors(f.Color, IsTerminal(w))}
	if file, ok := Bare(w).(*os.File); ok && IsTerminal(w) {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 1 {
			l.Width, l.Height = width, height-1 // the prompt needs a line
		}
	}
	l.Width, l.Height = cmp.Or(f.Width, l.Width), cmp.Or(f.Height, l.Height)
	return l
}

// UTF8 reports whether the locale can show more than ASCII.
func (p *Process) UTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := p.Getenv(name); v != "" {
			v = strings.ToLower(strings.ReplaceAll(v, "-", ""))
			return strings.Contains(v, "utf8")
		}
	}
	return false
}

// colors returns the colours for output that goes to a terminal or elsewhere. when is auto, always
// or never.
func (p *Process) colors(when string, terminal bool) chart.Colors {
	name := p.Getenv("TERM")
	if when == "never" || when != "always" && (!terminal || p.Getenv("NO_COLOR") != "" || name == "dumb" || name == "") {
		return chart.NoColors
	}
	if strings.Contains(name, "256") || strings.Contains(name, "direct") || p.Getenv("COLORTERM") != "" || name == "" {
		return chart.Colors256
	}
	switch name {
	case "linux", "xterm", "ansi", "screen", "vt220", "cygwin":
		return chart.Colors16
	}
	return chart.Colors256
}

// RangeText prints the range of a chart, the date once if it is one day.
func RangeText(c *chart.Chart) string {
	from, to := Stamp(c.Start, c.Location), Stamp(c.End, c.Location)
	if c.Start%60 == 0 && c.End%60 == 0 || c.End-c.Start >= 6*3600 {
		from, to = from[:len(from)-3], to[:len(to)-3]
	}
	if date := len("2006-01-02 "); len(from) > date && len(to) > date && from[:date] == to[:date] {
		to = to[date:]
	}
	dash := "–"
	if c.ASCII {
		dash = "to"
	}
	return from + " " + dash + " " + to
}
