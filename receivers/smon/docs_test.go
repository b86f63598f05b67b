package smon

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hexLine is the bytes at the beginning of a line; two blanks end them.
var hexLine = regexp.MustCompile(`^[0-9a-f]{2}( [0-9a-f]{2})*(  |$)`)

// examples returns the blocks of bytes in docs/wire/smon.md by their names.
func examples(t *testing.T) map[string][]byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/wire/smon.md")
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
			digits := hexLine.FindString(line)
			if digits == "" {
				t.Fatalf("example %q: line %q is no bytes", name, line)
			}
			blocks[name] = append(blocks[name], unhex(t, digits)...)
		}
	}
	return blocks
}

// TestPage decodes the examples of the page.
func TestPage(t *testing.T) {
	blocks := examples(t)
	want := map[string][]datum{
		"numbers": {
			number("abc", 100), number("abc", 101), number("abc", 101), number("abc", 325), number("abc", 324),
			number("abc", 70000), number("abc", 1<<64-1),
		},
		"strings": {
			text("abc", "up"), text("abc", "up and down"), text("abc", "up and down"), text("abc", "down"),
			text("abc", strings.Repeat("\xff", 16)),
		},
		"tokens":  {text("mon.version", "0.0.0"), text("mon.compiled", "Sep 12 2004")},
		"short":   {text("mon.version", "0.0.0")},
		"indexes": {number("disk.tps", 5, 3, 0), number("disk.tps", 7, 8, 0), number("disk.tps", 9)},
		"indexed": {
			number("idle", 5), number("idle", 200, 0), number("idle", 201, 0, 1, 2), number("idle", 202, 0, 5, 6),
			number("idle", 6, 4, 5, 6), number("busy", 9, 7),
		},
		"reset": {number("abc", 7), {}, number("abd", 1)},
	}
	if len(blocks) != len(want) {
		t.Errorf("the page has %d examples, %d are expected", len(blocks), len(want))
	}
	for name, ds := range want {
		var d Decoder
		var c collector
		d.Decode(blocks[name], &c)
		if diff := cmp.Diff(lines(ds), lines(c.data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if d.Pending() != 0 || len(c.errs) > 0 && name != "reset" {
			t.Errorf("%s: %d bytes pending, errors %q", name, d.Pending(), c.errs)
		}
	}
}
