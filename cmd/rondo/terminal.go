package main

import (
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/rondo-db/rondo/internal/text"
)

// A terminal is a terminal that obeys nothing which is printed on it: control characters in names
// of other people's files, in texts of notifications, in an error that quotes its input are shown
// as \x1b. Line feeds and tabs stay.
type terminal struct {
	w io.Writer

	mu   sync.Mutex // guards what follows
	rest []byte     // the beginning of a character whose end is yet to be written
}

// forTerminal returns w as it is, or what shows harmless text on it if w is a terminal.
func forTerminal(w io.Writer) io.Writer {
	if isTerminal(w) {
		return &terminal{w: w}
	}
	return w
}

// bare returns what w writes to, for who commands a terminal.
func bare(w io.Writer) io.Writer {
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

// isTerminal says whether w is a terminal, which binary data would upset.
func isTerminal(w any) bool {
	if _, ok := w.(*terminal); ok {
		return true
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a device, but nobody looks at it
	return err != nil || !os.SameFile(info, null)
}

// oneLine returns what other people wrote as it may stand in a line.
func oneLine(s string) string { return text.Escape(s) }
