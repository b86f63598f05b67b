package receivertest

import (
	"bufio"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Hex decodes the lines of hexadecimal digits in all files that match the pattern. Captured packets
// are kept in such files, one packet a line; lines with "#" are comments.
func Hex(t testing.TB, pattern string) [][]byte {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s (%v)", pattern, err)
	}
	var out [][]byte
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 4<<20)
		for line := 1; sc.Scan(); line++ {
			if strings.HasPrefix(sc.Text(), "#") {
				continue
			}
			b, err := hex.DecodeString(strings.TrimSpace(sc.Text()))
			if err != nil {
				t.Fatalf("%s:%d: %v", name, line, err)
			}
			out = append(out, b)
		}
		if err := sc.Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = f.Close() // only read
	}
	return out
}

// hexLine matches the bytes at the beginning of a line, up to two blanks or the end of the line.
var hexLine = regexp.MustCompile(`^[0-9a-f]{2}( [0-9a-f]{2})*(  |$)`)

// Examples returns the bytes of the blocks of a page that begin with "```hex NAME", by their names.
// Text behind two blanks in a line explains the bytes and is skipped.
func Examples(t testing.TB, name string) map[string][]byte {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	blocks := make(map[string][]byte)
	block := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		switch s, ok := strings.CutPrefix(line, "```hex "); {
		case ok:
			block = s
		case line == "```":
			block = ""
		case block != "":
			b, err := hex.DecodeString(strings.ReplaceAll(hexLine.FindString(line), " ", ""))
			if err != nil || len(b) == 0 {
				t.Fatalf("%s: example %q: line %q is no bytes", name, block, line)
			}
			blocks[block] = append(blocks[block], b...)
		}
	}
	return blocks
}
