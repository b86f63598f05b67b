// Package truetype reads TrueType fonts that can be trusted, and writes subsets of them.
//
// It knows outlines of quadratic curves (glyf), the Basic Multilingual Plane (cmap, format 4) and
// horizontal advances. The font is part of the program, so tests meet its errors and users do not:
// [Parse] checks the tables, and a glyph that is damaged is empty.
package truetype

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

var be = binary.BigEndian

// A Font is a parsed font. It may be used by several goroutines.
type Font struct {
	tables   map[string][]byte
	glyf     []byte
	offsets  []uint32 // into glyf; glyph i lies from offsets[i] to offsets[i+1]
	advances []uint16
	bearings []int16
	segments []segment // of the cmap, in order
}

// A segment is a range of characters.
type segment struct {
	first, last rune
	delta       uint16
	glyphs      []byte // two bytes a character; nil where delta alone says the glyph
}

// errFont is the error for any damage to a font.
var errFont = errors.New("truetype: damaged font")

// Parse reads a font. It keeps data.
func Parse(data []byte) (*Font, error) {
	if len(data) < 12 {
		return nil, errFont
	}
	f := &Font{tables: map[string][]byte{}}
	for i := range int(be.Uint16(data[4:])) {
		if len(data) < 12+16*(i+1) {
			return nil, errFont
		}
		e := data[12+16*i:]
		from, size := uint64(be.Uint32(e[8:])), uint64(be.Uint32(e[12:]))
		if from+size > uint64(len(data)) {
			return nil, fmt.Errorf("%w: table %q lies outside", errFont, e[:4])
		}
		f.tables[string(e[:4])] = data[from : from+size]
	}
	for name, least := range map[string]int{"head": 54, "hhea": 36, "maxp": 6, "hmtx": 4, "loca": 4, "cmap": 4} {
		if len(f.tables[name]) < least {
			return nil, fmt.Errorf("%w: no table %q", errFont, name)
		}
	}
	f.glyf = f.tables["glyf"]
	if err := f.readGlyphs(); err != nil {
		return nil, err
	}
	return f, f.readCharacters()
}

// readGlyphs reads where glyphs lie and how wide they are.
func (f *Font) readGlyphs() error {
	n := int(be.Uint16(f.tables["maxp"][4:]))
	loca, hmtx := f.tables["loca"], f.tables["hmtx"]
	long := be.Uint16(f.tables["head"][50:]) != 0
	if n == 0 || !long && len(loca) < 2*(n+1) || long && len(loca) < 4*(n+1) {
		return fmt.Errorf("%w: loca is short", errFont)
	}
	for i := range n + 1 {
		at := 2 * uint32(be.Uint16(loca[2*i:]))
		if long {
			at = be.Uint32(loca[4*i:])
		}
		if at > uint32(len(f.glyf)) || i > 0 && at < f.offsets[i-1] {
			return fmt.Errorf("%w: glyph %d lies outside", errFont, i)
		}
		f.offsets = append(f.offsets, at)
	}
	full := int(be.Uint16(f.tables["hhea"][34:]))
	if full == 0 || full > n || len(hmtx) < 4*full+2*(n-full) {
		return fmt.Errorf("%w: hmtx is short", errFont)
	}
	for i := range n {
		if i < full {
			f.advances = append(f.advances, be.Uint16(hmtx[4*i:]))
			f.bearings = append(f.bearings, int16(be.Uint16(hmtx[4*i+2:])))
		} else {
			f.advances = append(f.advances, f.advances[full-1])
			f.bearings = append(f.bearings, int16(be.Uint16(hmtx[4*full+2*(i-full):])))
		}
	}
	return nil
}

// readCharacters reads the first table of format 4 of the cmap.
func (f *Font) readCharacters() error {
	cmap := f.tables["cmap"]
	for i := range int(be.Uint16(cmap[2:])) {
		if len(cmap) < 4+8*(i+1) {
			break
		}
		at := uint64(be.Uint32(cmap[4+8*i+4:]))
		if at+14 > uint64(len(cmap)) || be.Uint16(cmap[at:]) != 4 {
			continue
		}
		t := cmap[at:]
		n := int(be.Uint16(t[6:])) / 2
		if len(t) < 16+8*n {
			break
		}
		for s := range n {
			seg := segment{
				first: rune(be.Uint16(t[16+2*n+2*s:])), last: rune(be.Uint16(t[14+2*s:])),
				delta: be.Uint16(t[16+4*n+2*s:]),
			}
			if offset := int(be.Uint16(t[16+6*n+2*s:])); offset != 0 {
				from := 16 + 6*n + 2*s + offset
				to := from + 2*int(seg.last-seg.first+1)
				if seg.last < seg.first || to > len(t) {
					continue // the last segment of some fonts, U+FFFF
				}
				seg.glyphs = t[from:to]
			}
			f.segments = append(f.segments, seg)
		}
		return nil
	}
	return fmt.Errorf("%w: no cmap of format 4", errFont)
}

// Glyph returns the glyph of a character, or 0, the glyph for what is missing.
func (f *Font) Glyph(c rune) uint16 {
	i, _ := slices.BinarySearchFunc(f.segments, c, func(s segment, c rune) int { return int(s.last - c) })
	if i == len(f.segments) || c < f.segments[i].first {
		return 0
	}
	s := f.segments[i]
	id := uint16(c) + s.delta
	if s.glyphs != nil {
		if id = be.Uint16(s.glyphs[2*(c-s.first):]); id != 0 {
			id += s.delta
		}
	}
	if int(id) >= f.Glyphs() {
		return 0
	}
	return id
}

// Glyphs returns the number of glyphs.
func (f *Font) Glyphs() int { return len(f.offsets) - 1 }

// Advance returns the width of a glyph, in units of the em square.
func (f *Font) Advance(id uint16) int { return int(f.advances[id]) }

// UnitsPerEm returns the side of the em square.
func (f *Font) UnitsPerEm() int { return int(be.Uint16(f.tables["head"][18:])) }

// Ascent returns how far glyphs reach above the baseline, in units of the em square.
func (f *Font) Ascent() int { return int(int16(be.Uint16(f.tables["hhea"][4:]))) }

// Descent returns how far glyphs reach below the baseline, in units of the em square.
func (f *Font) Descent() int { return -int(int16(be.Uint16(f.tables["hhea"][6:]))) }

// Box returns the box around all glyphs: left, bottom, right, top.
func (f *Font) Box() (box [4]int) {
	for i := range box {
		box[i] = int(int16(be.Uint16(f.tables["head"][36+2*i:])))
	}
	return box
}
