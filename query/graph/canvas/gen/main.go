// Gen makes the fonts that the canvas embeds: DejaVu Sans Mono and DejaVu Sans, regular and bold,
// without instructions for hinting and with the characters that graphs are labelled with. They are
// packed by gzip.
//
//	go run ./gen FOLDER   # where DejaVuSansMono.ttf, DejaVuSans.ttf and their bold ones are
package main

import (
	"bytes"
	"log"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"github.com/rondo-db/rondo/query/graph/canvas/internal/truetype"
)

// text is how many of the ranges are letters, digits and signs of texts. The proportional font has
// no more: others are drawn in the other one.
const text = 11

// ranges are the characters that are kept.
var ranges = [][2]rune{
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

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FOLDER")
	}
	for name, ranges := range map[string][][2]rune{
		"DejaVuSansMono": ranges, "DejaVuSansMono-Bold": ranges, "DejaVuSans": ranges[:text], "DejaVuSans-Bold": ranges[:text],
	} {
		if err := shrink(filepath.Join(os.Args[1], name+".ttf"), "font/"+name+".ttf.gz", ranges); err != nil {
			log.Fatal(err)
		}
	}
}

func shrink(from, to string, ranges [][2]rune) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := truetype.Parse(data)
	if err != nil {
		return err
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
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	small := f.Subset(ids, characters)
	_, _ = w.Write(small) // into memory
	if err := w.Close(); err != nil {
		return err
	}
	log.Printf("%s: %d characters, %d bytes, packed %d", to, len(characters), len(small), b.Len())
	return os.WriteFile(to, b.Bytes(), 0o644)
}
