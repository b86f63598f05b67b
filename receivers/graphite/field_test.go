package graphite

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestFieldsEndAtSpaces compares the words of lines of all bytes with those that are found byte by
// byte.
func TestFieldsEndAtSpaces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	some := []byte("a!\x7f\x80\xff\xa0 \t\v\r\x00\x1f\x08\x0e")
	for range 100_000 {
		line := make([]byte, rnd.IntN(30))
		for i := range line {
			if line[i] = some[0]; rnd.IntN(4) == 0 {
				line[i] = some[rnd.IntN(len(some))]
			}
		}
		at := 0
		for at < len(line) && isSpace(line[at]) {
			at++
		}
		end := at
		for end < len(line) && !isSpace(line[end]) {
			end++
		}
		word, rest := field(line)
		if !bytes.Equal(word, line[at:end]) || !bytes.Equal(rest, line[end:]) {
			t.Fatalf("%q begins with %q, then %q; want %q, %q", line, word, rest, line[at:end], line[end:])
		}
	}
}
