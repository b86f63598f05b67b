package smon

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestPage decodes the examples of the page.
func TestPage(t *testing.T) {
	blocks := receivertest.Examples(t, "../../docs/wire/smon.md")
	want := map[string][]datum{
		"numbers": {
			number("abc", 100), number("abc", 101), number("abc", 101), number("abc", 325), number("abc", 324),
			number("abc", 70000), number("abc", 1<<64-1),
		},
		"strings": {
			textOf("abc", "up"), textOf("abc", "up and down"), textOf("abc", "up and down"), textOf("abc", "down"),
			textOf("abc", strings.Repeat("\xff", 16)),
		},
		"tokens":  {textOf("mon.version", "0.0.0"), textOf("mon.compiled", "Sep 12 2004")},
		"short":   {textOf("mon.version", "0.0.0")},
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
		d.feed(blocks[name], &c)
		if diff := cmp.Diff(lines(ds), lines(c.data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if d.Pending() != 0 || len(c.errs) > 0 && name != "reset" {
			t.Errorf("%s: %d bytes pending, errors %q", name, d.Pending(), c.errs)
		}
	}
}
