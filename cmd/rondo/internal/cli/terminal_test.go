package cli

import (
	"bytes"
	"os"
	"testing"
)

// TestTerminalIsNotCommanded: what is printed on a terminal is shown, not obeyed, in whatever
// pieces it is written.
func TestTerminalIsNotCommanded(t *testing.T) {
	const in, want = "größe\t1\n\x1b]0;title\a \u009b31m\xff 温\r\n", "größe\t1\n" + `\x1b]0;title\a \u009b31m\xff` + " 温" + `\r` + "\n"
	for _, piece := range []int{1, 2, 3, len(in)} {
		var out bytes.Buffer
		term := &terminal{w: &out}
		for at := 0; at < len(in); at += piece {
			b := []byte(in[at:min(at+piece, len(in))])
			if n, err := term.Write(b); n != len(b) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", piece, out.String(), want)
		}
	}
}

// TestDevNullIsNoTerminal: `rondo backup - > /dev/null` was refused, because the device looked like
// a terminal.
func TestDevNullIsNoTerminal(t *testing.T) {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	if IsTerminal(f) {
		t.Errorf("%s is taken for a terminal", os.DevNull)
	}
}
