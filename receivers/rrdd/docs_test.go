package rrdd

import (
	"encoding/hex"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/rra"
)

// hexLine is the bytes at the beginning of a line; two blanks, or the line's end, end them.
var hexLine = regexp.MustCompile(`^[0-9a-f]{2}( [0-9a-f]{2})*(  |$)`)

// examples returns the blocks of bytes in docs/wire/rrdd.md by their names.
func examples(t *testing.T) map[string][]byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/wire/rrdd.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := make(map[string][]byte)
	name := ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		switch s, ok := strings.CutPrefix(line, "```hex "); {
		case ok:
			name = s
		case line == "```":
			name = ""
		case name != "":
			b, err := hex.DecodeString(strings.ReplaceAll(hexLine.FindString(line), " ", ""))
			if err != nil || len(b) == 0 {
				t.Fatalf("example %q: line %q is no bytes", name, line)
			}
			blocks[name] = append(blocks[name], b...)
		}
	}
	return blocks
}

// TestPage decodes the examples of the page.
func TestPage(t *testing.T) {
	for version, b := range map[int][]byte{1: examples(t)["version-1"], 2: examples(t)["version-2"]} {
		got, err := Decode(b)
		if err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		want := &File{
			Version: version, Timestamp: 1700000000.5,
			Sources: []Source{{Name: "temp", Type: Gauge, Min: math.Inf(-1), Max: math.Inf(1)}}, Values: []rra.Value{rra.Float(21.5)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
}
