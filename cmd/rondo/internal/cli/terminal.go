package cli

import (
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/rondo-db/rondo/internal/text"
)

// A terminal is a writer to a terminal that shows control characters as \x1b instead of sending
// them, apart from line feeds and tabs. They may come from names of files, from texts of
// notifications, and from errors that quote their input.
type terminal struct {
	w io.Writer

	mu   sync.Mutex // guards rest, and is held while the terminal is written to
	rest []byte     // the beginning of a character whose end was not written yet
}

// forTerminal returns w, or if w is a terminal, a writer that sends it no control characters.
func forTerminal(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return &terminal{w: w}
	}
	return w
}

// Bare returns the writer below a terminal, for output that contains control characters on purpose.
func Bare(w io.Writer) io.Writer {
	if t, ok := w.(*terminal); ok {
		return t.w
	}
	return w
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := append(t.rest, p...)
	whole := len(b)
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if utf8.RuneStart(b[len(b)-n]) {
			if !utf8.FullRune(b[len(b)-n:]) {
				whole -= n
			}
			break
		}
	}
	_, err := io.WriteString(t.w, text.EscapeLines(string(b[:whole])))
	t.rest = append([]byte(nil), b[whole:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// IsTerminal reports whether w is a terminal, to which binary data must not be written.
func IsTerminal(w any) bool {
	if _, ok := w.(*terminal); ok {
		return true
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// OneLine returns a text from outside with control characters escaped, so that it fits in one line.
func OneLine(s string) string { return text.Escape(s) }
