package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/text"
)

// How often progress is shown, as a bar on a terminal and as a line elsewhere.
const (
	barEvery  = 200 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 30
)

// A progress shows how many of a number of steps are done.
type progress struct {
	w     io.Writer
	total int
	noun  string // of the things that are done
	bar   bool
	every time.Duration
	began time.Time

	mu    sync.Mutex // guards what follows
	done  int
	last  time.Time // when it was shown last
	shown bool      // the line of the cursor shows a bar
}

// NewProgress begins to show progress on w. noun says what is done, such as files; total 0: it is
// not known how many of them.
func NewProgress(w io.Writer, total int, noun string) *progress {
	p := &progress{w: Bare(w), total: total, noun: noun, bar: IsTerminal(w), every: lineEvery, began: time.Now(), last: time.Now()}
	if p.bar {
		p.every = barEvery
	}
	return p
}

// Step says that n more steps are done, and shows that now and then.
func (p *progress) Step(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if time.Since(p.last) >= p.every {
		p.last = time.Now()
		p.show()
	}
}

// show prints the progress. Errors are ignored, because nothing depends on the output.
func (p *progress) show() {
	rate := float64(p.done) / max(time.Since(p.began).Seconds(), 1e-3)
	text := fmt.Sprintf("%d %s, %.0f a second", p.done, p.noun, rate)
	if p.total > 0 {
		text = fmt.Sprintf("%d of %d %s, %.0f a second", p.done, p.total, p.noun, rate)
		if left := float64(p.total-p.done) / rate; p.done > 0 && p.done < p.total {
			text += ", " + time.Duration(left*float64(time.Second)).Round(time.Second).String() + " left"
		}
	}
	if !p.bar {
		_, _ = fmt.Fprintln(p.w, text)
		return
	}
	full := ""
	if p.total > 0 {
		n := barWidth * min(p.done, p.total) / p.total
		full = "[" + strings.Repeat("#", n) + strings.Repeat(" ", barWidth-n) + "] "
	}
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s%s", full, text)
	p.shown = true
}

// Print prints a line, which may quote anything.
func (p *progress) Print(line string) {
	line = text.Escape(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	_, _ = fmt.Fprintln(p.w, line) // as in show
}

// clear removes the bar.
func (p *progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// End ends the display and removes the bar.
func (p *progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
