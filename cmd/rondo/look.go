package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
)

// A look is what drawings of a command look like.
type look struct {
	width, height int
	ascii         bool
	colors        chart.Colors
}

// look returns the look of what a plot prints to w.
func (p *plotting) look(w io.Writer) look {
	l := look{width: pipeWidth, height: pipeHeight, ascii: p.ascii || !p.utf8(), colors: p.colors(p.color, isTerminal(w))}
	if f, ok := bare(w).(*os.File); ok && isTerminal(w) {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 1 {
			l.width, l.height = width, height-1 // the prompt needs a line
		}
	}
	if p.width > 0 {
		l.width = p.width
	}
	if p.height > 0 {
		l.height = p.height
	}
	return l
}

// utf8 reports whether the locale can show more than ASCII.
func (p *process) utf8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := p.getenv(name); v != "" {
			v = strings.ToLower(strings.ReplaceAll(v, "-", ""))
			return strings.Contains(v, "utf8")
		}
	}
	return false
}

// colors returns the colours for output that goes to a terminal or elsewhere. when is auto, always
// or never.
func (p *process) colors(when string, terminal bool) chart.Colors {
	name := p.getenv("TERM")
	if when == "never" || when != "always" && (!terminal || p.getenv("NO_COLOR") != "" || name == "dumb" || name == "") {
		return chart.NoColors
	}
	if strings.Contains(name, "256") || strings.Contains(name, "direct") || p.getenv("COLORTERM") != "" || name == "" {
		return chart.Colors256
	}
	switch name {
	case "linux", "xterm", "ansi", "screen", "vt220", "cygwin":
		return chart.Colors16
	}
	return chart.Colors256
}
