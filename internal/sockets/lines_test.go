package sockets

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadLines: lines arrive whole, however they were cut; one that is too long is skipped, and
// one that does not end ends reading.
func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, tt := range []struct {
		text, want string
		long, rest int
		err        error
	}{
		{"", "", 0, 0, io.EOF},
		{"a\nbc\n", "a\nbc\n", 0, 0, io.EOF},
		{"a\n\nbc", "a\n\n", 0, 2, io.EOF},
		{"a\n" + long + "\nb\n", "a\nb\n", 1, 0, io.EOF},
		{long + "\n" + long + "\nb", "", 2, 1, io.EOF},
		{"a\n" + strings.Repeat(long, 200), "a\n", 1, 0, ErrEndless},
		{strings.Repeat("abc\n", 100_000), strings.Repeat("abc\n", 100_000), 0, 0, io.EOF},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(tt.text), "half": iotest.HalfReader(strings.NewReader(tt.text)), "bytes": iotest.OneByteReader(strings.NewReader(tt.text)),
		} {
			if name == "bytes" && len(tt.text) > 100_000 {
				continue // slow, and like the others
			}
			var got strings.Builder
			longs := 0
			rest, err := ReadLines(r, 1000, func(text []byte) { got.Write(text) }, func([]byte) { longs++ })
			// A line that arrives whole is taken, however long it is.
			whole := strings.ReplaceAll(got.String(), long+"\n", "")
			if whole != tt.want || rest != tt.rest || !errors.Is(err, tt.err) || name == "bytes" && longs != tt.long {
				t.Errorf("%s of %.20q: %.40q, %d long, rest %d, %v", name, tt.text, got.String(), longs, rest, err)
			}
		}
	}
}
