package rrdfile_test

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

var (
	hexLine  = regexp.MustCompile(`^([0-9a-f]{2}(?: [0-9a-f]{2})*)(?:  |$)`)
	zeroLine = regexp.MustCompile(`^00 x ([0-9]+)`)
)

// example returns the bytes of the page's example.
func example(t *testing.T) []byte {
	t.Helper()
	page := string(readFile(t, "../../../docs/rrdfile.md"))
	_, text, _ := strings.Cut(page, "### Example\n")
	_, text, _ = strings.Cut(text, "```\n")
	text, _, ok := strings.Cut(text, "```")
	if !ok {
		t.Fatal("no example")
	}
	var b []byte
	for line := range strings.Lines(text) {
		if m := zeroLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			b = append(b, make([]byte, n)...)
			continue
		}
		m := hexLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			t.Fatalf("line %q is no bytes", line)
		}
		piece, err := hex.DecodeString(strings.ReplaceAll(m[1], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, piece...)
	}
	return b
}

// TestPage: the page describes its example rightly, and rondo writes the same file after the same
// updates.
func TestPage(t *testing.T) {
	raw := example(t)
	f, err := rrdfile.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := binaryOf(t, f); !bytes.Equal(got, raw) {
		t.Errorf("written again: %s", diffBytes(raw, got))
	}
	d, err := rra.ParseDefinition(10, []string{"DS:in:COUNTER:20:0:U", "RRA:AVERAGE:0.5:2:2"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewState(rra.Seconds(1_000_000_000))
	nan := f.State.Archives[0].Rows[0]
	g := &going{m: m, s: s, rows: [][]float64{{nan, nan}}}
	if err := g.update([]string{"1000000010:100", "1000000020:250", "1000000035.5:300"}); err != nil {
		t.Fatal(err)
	}
	own, err := g.file()
	if err != nil {
		t.Fatal(err)
	}
	if got := binaryOf(t, own); !bytes.Equal(got, raw) {
		t.Errorf("of the same updates: %s", diffBytes(raw, got))
	}
}
