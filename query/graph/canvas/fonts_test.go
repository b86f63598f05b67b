package canvas

import (
	"bytes"
	"encoding/binary"
	"flag"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/query/graph/canvas/internal/truetype"
)

var fontFolder = flag.String("fonts", "", "`folder` with DejaVuSansMono.ttf, DejaVuSans.ttf and their bold ones")

// TestFonts makes the fonts that the canvas embeds, if -fonts says of what: DejaVu Sans Mono and
// DejaVu Sans, regular and bold, without instructions for hinting and with the characters that
// graphs are labelled with. Without -fonts it cuts those that are there, which stay as they are.
func TestFonts(t *testing.T) {
	for name, ranges := range map[string][][2]rune{
		"DejaVuSansMono": kept, "DejaVuSansMono-Bold": kept, "DejaVuSans": kept[:keptText], "DejaVuSans-Bold": kept[:keptText],
	} {
		to := "font/" + name + ".ttf"
		if *fontFolder == "" {
			there, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(shrink(t, there, to, ranges), there) {
				t.Errorf("%s is another font when it is cut again", to)
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(*fontFolder, name+".ttf"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, shrink(t, data, to, ranges), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// keptText is how many of the ranges are letters, digits and signs of texts. The proportional font has
// no more: others are drawn in the other one.
const keptText = 11

// kept are the characters that are kept.
var kept = [][2]rune{
	{0x0020, 0x007e},
	{0x00a0, 0x024f}, // Latin
	{0x0259, 0x0259},
	{0x02b0, 0x036f}, // modifiers, combining marks
	{0x0370, 0x03ff}, // Greek
	{0x0400, 0x052f}, // Cyrillic
	{0x1e00, 0x1eff}, // Latin with two marks
	{0x2000, 0x206f}, // punctuation
	{0x2070, 0x209f}, // raised and lowered digits
	{0x20a0, 0x20bf}, // currencies
	{0x2100, 0x218f}, // letter-like, fractions, Roman numbers
	{0x2190, 0x21ff}, // arrows
	{0x2200, 0x22ff}, // mathematics
	{0x2300, 0x23ff}, // technical
	{0x2400, 0x243f},
	{0x2500, 0x25ff}, // boxes, blocks, shapes
	{0x2600, 0x26ff}, // symbols
	{0x2700, 0x27bf},
	{0xfb00, 0xfb06},
	{0xfffd, 0xfffd},
}

// shrink returns the font with the characters of ranges alone.
func shrink(t *testing.T, data []byte, to string, ranges [][2]rune) []byte {
	t.Helper()
	f, err := truetype.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var ids []uint16
	number := map[uint16]uint16{}
	characters := map[rune]uint16{}
	for _, r := range ranges {
		for c := r[0]; c <= r[1]; c++ {
			id := f.Glyph(c)
			if id == 0 {
				continue
			}
			if number[id] == 0 {
				ids = append(ids, id)
				number[id] = uint16(len(ids))
			}
			characters[c] = number[id]
		}
	}
	small := f.Subset(ids, cmap4(characters))
	t.Logf("%s: %d characters, %d bytes", to, len(characters), len(small))
	return small
}

// cmap4 writes a table of characters of the Basic Multilingual Plane: the glyphs that they have.
func cmap4(characters map[rune]uint16) []byte {
	type run struct{ first, last, glyph uint16 }
	var runs []run
	for _, c := range slices.Sorted(maps.Keys(characters)) {
		if c < 0 || c >= 0xffff {
			continue
		}
		id := characters[c]
		if n := len(runs); n > 0 && runs[n-1].last+1 == uint16(c) && runs[n-1].glyph+uint16(c)-runs[n-1].first == id {
			runs[n-1].last = uint16(c)
			continue
		}
		runs = append(runs, run{uint16(c), uint16(c), id})
	}
	runs = append(runs, run{0xffff, 0xffff, 0})
	n := len(runs)
	size := 16 + 8*n
	t := []byte{0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 12} // one table, of Windows' Unicode, at 12
	log := bits.Len(uint(n)) - 1
	span := 1 << log
	for _, v := range []int{4, size, 0, 2 * n, 2 * span, log, 2 * (n - span)} {
		t = binary.BigEndian.AppendUint16(t, uint16(v))
	}
	for _, r := range runs {
		t = binary.BigEndian.AppendUint16(t, r.last)
	}
	t = append(t, 0, 0)
	for _, r := range runs {
		t = binary.BigEndian.AppendUint16(t, r.first)
	}
	for _, r := range runs {
		t = binary.BigEndian.AppendUint16(t, r.glyph-r.first)
	}
	return append(t, make([]byte, 2*n)...)
}
