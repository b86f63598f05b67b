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

// Hex returns the lines of all files that match the pattern, decoded: captures are kept so.
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

// hexLine is the bytes at the beginning of a line; two blanks, or its end, end them.
var hexLine = regexp.MustCompile(`^[0-9a-f]{2}( [0-9a-f]{2})*(  |$)`)

// Examples returns the bytes in the blocks of a page that begin with "```hex NAME", by their names.
// What stands in a line behind two blanks is said of the bytes.
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
