package rrdfile_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// readBoth reads a file piece by piece, and whole with Decode. It says how the results differ, and
// returns "" if they are the same.
func readBoth(x *rrdfile.Reader, raw []byte) string {
	want, wantErr := rrdfile.Decode(raw)
	got, gotErr := x.Read(bytes.NewReader(raw), int64(len(raw)))
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		return fmt.Sprintf("%v, not %v", gotErr, wantErr)
	}
	if wantErr != nil {
		return ""
	}
	for i := range want.State.Archives {
		if g, w := got.State.Archives[i].Rows, want.State.Archives[i].Rows; !slices.EqualFunc(g, w, func(a, b float64) bool { return a == b || a != a && b != b }) {
			return fmt.Sprintf("rows of archive %d differ", i)
		}
		got.State.Archives[i].Rows, want.State.Archives[i].Rows = nil, nil
	}
	if g, w := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", *want); g != w {
		return fmt.Sprintf("%s\n, not\n%s", g, w)
	}
	return ""
}

// TestReader: a large file that is read piece by piece is the same as one read from memory, damage
// included.
func TestReader(t *testing.T) {
	r := seedtest.Rand(t)
	var many []string
	for i := range 90 {
		many = append(many, fmt.Sprintf("DS:n%d:GAUGE:20:U:U", i))
	}
	for _, args := range [][]string{
		{"DS:a:GAUGE:20:-5:100", "RRA:AVERAGE:0.5:1:34000", "RRA:MAX:0.5:6:3", "RRA:LAST:0.5:1:900"},
		whole,
		append(many, "RRA:AVERAGE:0.5:1:400", "RRA:LAST:0.5:10:30"), // its header alone is more than a piece
	} {
		f := fixed(t, 10, args...)
		f.State.Archives[0].CurRow = r.Int64N(f.Definition.Archives[0].Rows)
		raw := binaryOf(t, f)
		x := new(rrdfile.Reader)
		for i, m := range machines {
			if i%2 == 1 { // rows are put where there is room
				x.Room = make([]float64, 0, len(raw)/8)
			}
			other := translate(raw, m, raw[7])
			if d := readBoth(x, other); d != "" {
				t.Errorf("%s: %s", m.name, d)
			}
			if at, err := rrdfile.LastUpdate(other); err != nil || at != f.State.LastUpdate {
				t.Errorf("%s: last update %v, %v", m.name, at, err)
			}
			for range 5 {
				n := r.IntN(len(other))
				if d := readBoth(x, other[:n]); d != "" {
					t.Errorf("%s, %d of %d bytes: %s", m.name, n, len(other), d)
				}
			}
			flipped := bytes.Clone(other)
			for range 8 {
				at, bit := r.IntN(500), byte(1)<<r.IntN(8)
				flipped[at] ^= bit
				if d := readBoth(x, flipped); d != "" {
					t.Errorf("%s, byte %d: %s", m.name, at, d)
				}
				_, _ = rrdfile.LastUpdate(flipped[:r.IntN(len(flipped))]) // no panic is enough
				flipped[at] ^= bit
			}
		}
	}
}
