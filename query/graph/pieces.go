package graph

import (
	"math"
	"strings"

	"github.com/rondo-db/rondo/query/graph/canvas"
)

// A piece is the part of a text of the legend between two tabs or ends of lines.
type piece struct {
	at   float64 // where it begins, in pixels behind the beginning of the text
	line int     // lines before it
	runs []canvas.Run
}

// ends are the ends of lines.
var ends = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n")

// lines is how many lines a text has.
func lines(runs []canvas.Run) int {
	n := 1
	for _, r := range runs {
		n += strings.Count(ends.Replace(r.Text), "\n")
	}
	return n
}

// heightOf is how high a text of the legend is, in whole pixels. As in rrdtool a line without text
// is not zoomed.
func (l *Layout) heightOf(runs []canvas.Run) float64 {
	var text strings.Builder
	for _, r := range runs {
		text.WriteString(r.Text)
	}
	height, sum := canvas.Height(l.o.Fonts[Legend]), 0.0
	for line := range strings.SplitSeq(ends.Replace(text.String()), "\n") {
		if line == "" {
			sum += height / l.o.Zoom
		} else {
			sum += height
		}
	}
	return math.Ceil(sum - 1.0/2048) // half of what text engines count in
}

// width is how wide a text of the legend is: its widest line.
func (l *Layout) width(runs []canvas.Run) float64 {
	w := 0.0
	for _, p := range l.pieces(runs) {
		w = max(w, p.at+canvas.Width(l.o.Fonts[Legend], p.runs))
	}
	return w
}

// pieces splits a text of the legend at its tabs and at the ends of its lines.
func (l *Layout) pieces(runs []canvas.Run) []piece {
	tabs := 0
	for _, r := range runs {
		tabs += strings.Count(r.Text, "\t")
	}
	l.setTabs(tabs)
	if tabs == 0 && lines(runs) == 1 {
		return []piece{{runs: runs}}
	}
	out := []piece{{}}
	for _, r := range runs {
		for i, line := range strings.Split(ends.Replace(r.Text), "\n") {
			if i > 0 {
				out = append(out, piece{line: out[len(out)-1].line + 1})
			}
			for k, text := range strings.Split(line, "\t") {
				last := &out[len(out)-1]
				if k > 0 {
					at := l.tabs.behind(last.at + canvas.Width(l.o.Fonts[Legend], last.runs))
					out = append(out, piece{at: at, line: last.line})
					last = &out[len(out)-1]
				}
				part := r
				part.Text = text
				last.runs = append(last.runs, part)
			}
		}
	}
	return out
}

// setTabs works out the stops for a first text with so many tabs in it.
func (l *Layout) setTabs(n int) {
	if l.tabs.set {
		return
	}
	l.tabs.set = true
	width, border, at := min(l.o.TabWidth, MaxSide), float64(l.border()), 0.0
	if !(width > -MaxSide) { // or is no number
		width = 0
	}
	if !l.tabs.known && width != 0 {
		at = math.Mod(border, width)
	}
	l.tabs.first = width - at + border
	if !l.tabs.known && n > 0 {
		l.tabs.step = width
		return
	}
	l.tabs.first = math.Trunc(l.tabs.first)
	l.tabs.step = l.tabs.first
}

// behind is the first stop behind a place.
func (t tabs) behind(x float64) float64 {
	step := max(t.step, 1) // rrdtool puts all on one place
	if x < math.Trunc(t.first) {
		return math.Trunc(t.first)
	}
	return math.Trunc(t.first + (math.Floor((x-t.first)/step)+1)*step)
}
