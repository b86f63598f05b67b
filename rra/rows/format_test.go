package rows

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// An example is one fenced block of docs/format-rows.md.
type example struct {
	line  int
	pdps  int64
	strip []byte
	rows  []float64
}

func formatExamples(t *testing.T) []example {
	t.Helper()
	page, err := os.ReadFile("../../docs/format-rows.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	var e *example
	n := 0
	for i, line := range strings.Split(string(page), "\n") {
		switch {
		case strings.HasPrefix(line, "```rows "):
			all = append(all, example{line: i + 1})
			e = &all[len(all)-1]
			if _, err := fmt.Sscanf(line, "```rows %d %d", &n, &e.pdps); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		case e == nil:
		case line == "```":
			if len(e.rows) != n {
				t.Fatalf("line %d: %d rows, want %d", i+1, len(e.rows), n)
			}
			e = nil
		case strings.HasPrefix(line, "= "):
			for f := range strings.FieldsSeq(line[2:]) {
				x, err := strconv.ParseFloat(f, 64)
				if err != nil {
					t.Fatalf("line %d: %v", i+1, err)
				}
				e.rows = append(e.rows, x)
			}
		default: // bytes, then in words what they are
			for f := range strings.FieldsSeq(line) {
				b, err := hex.DecodeString(f)
				if err != nil || len(f) != 2 {
					break
				}
				e.strip = append(e.strip, b...)
			}
		}
	}
	return all
}

func TestFormatPage(t *testing.T) {
	examples := formatExamples(t)
	if len(examples) < 4 {
		t.Fatalf("%d examples on the page", len(examples))
	}
	for _, e := range examples {
		got, used, err := Decode(nil, e.strip, len(e.rows), e.pdps)
		if err != nil || used != len(e.strip) {
			t.Fatalf("example at line %d: used %d of %d bytes, %v", e.line, used, len(e.strip), err)
		}
		sameRows(t, got, e.rows)
		if b := Append(nil, e.rows, e.pdps, nil); string(b) != string(e.strip) {
			t.Errorf("example at line %d: written as % x", e.line, b)
		}
	}
}

// Tags and header bits without a meaning are refused, so that they can get one.
func TestReserved(t *testing.T) {
	behind := make([]byte, 600)
	for tag := range 256 {
		known := tag >= 1 && tag <= 6
		if src := tag & tagSource; src == tagScaled || src == tagPattern {
			known = tag&tagMode != 0x30 && tag&flagSpare == 0
			if src == tagPattern && tag&flagOutlier != 0 || tag&tagMode == modeOffset && tag&flagPatch != 0 {
				known = false
			}
		}
		_, _, err := Decode(nil, append([]byte{byte(tag)}, behind...), 10, 1)
		if known != (err == nil) {
			t.Errorf("tag %02x: %v", tag, err)
		}
	}
	for _, c := range []struct {
		name  string
		bytes string
		ok    bool
	}{
		{"scaled, width 0", "40 0000 02", true},
		{"scale code 60", "40 0078 02", false},
		{"scale code 62", "40 007c 02", false},
		{"scale code 63, m 7", "40 007e 07 02", true},
		{"scale code 63, m 0", "40 007e 00 02", false},
		{"scale code 63, m 2^32", "40 007e 8080808010 02", false},
		{"scale code 63 times pdps", "40 00fe 07 02", false},
		{"pattern, reserved bit", "80 0020 02", false},
		{"pattern, width 65", "80 4100 02", false},
		{"scaled, width 60 and correction 5", "40 7c01 02", false},
		{"constant, scale code 60", "04 3c 02", false},
		{"constant, scale code 128", "04 80 02", false},
		{"unknown runs, all rows", "42 0000 02 01 00 0a", false},
		{"unknown runs, too many rows", "42 0000 02 01 08 04", false},
		{"unknown runs", "42 0000 02 01 01 09", true},
		{"patch of row 0", "54 0000 02 01 00 02", false},
		{"patch behind the rows", "54 0000 02 01 0a 02", false},
		{"patches not rising", "54 0000 02 02 03 02 03 02", false},
		{"outlier behind the rows", "48 0000 02 01 0a 0000000000000000", false},
		{"base of eleven bytes", "40 0000 8080808080808080808001", false},
	} {
		src, err := hex.DecodeString(strings.ReplaceAll(c.bytes, " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, behind := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
			if _, _, err := Decode(nil, append(src, behind...), 10, 2); c.ok != (err == nil) && (c.ok || behind == "") {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// The sizes that the storage layout counts on.
func TestSize(t *testing.T) {
	limits := map[string]float64{"10s": 2.0, "1min-average": 2.4, "1min-maximum": 2.1, "10min-average": 2.9}
	for _, w := range workloadRows() {
		limit, ok := limits[w.name]
		if !ok {
			continue
		}
		series, _ := workload(w, 5, 64)
		size, rows := 0, 0
		for _, s := range series {
			var h Hint
			for at := 0; at < len(s); at += 32 {
				size += len(Append(nil, s[at:at+32], w.pdps, &h))
				rows += 32
			}
		}
		if got := float64(size) / float64(rows); got > limit {
			t.Errorf("%s: %.2f bytes a row, more than %.2f", w.name, got, limit)
		}
	}
}
