package canvas

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// A subset is the characters of a font that a picture uses. Each has a number, from 1 on, and a
// glyph of its own, even those that the font lacks: so the text can be copied from the picture.
type subset struct {
	chars   []rune
	numbers map[rune]int
}

// number returns the number of a character.
func (s *subset) number(c rune) int {
	n, ok := s.numbers[c]
	if !ok {
		if s.numbers == nil {
			s.numbers = map[rune]int{}
		}
		s.chars = append(s.chars, c)
		n = len(s.chars)
		s.numbers[c] = n
	}
	return n
}

// font returns the font of the subset. Numbers are the numbers of its glyphs.
func (s *subset) font(f *face) []byte {
	ids := make([]uint16, len(s.chars))
	for i, c := range s.chars {
		ids[i] = f.Glyph(c)
	}
	return f.Subset(ids, nil)
}

// utf16Hex returns a character as PDF writes it.
func utf16Hex(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, "%04X", u)
	}
	return b.String()
}

// mostMappings is the number of lines that one block of a CMap may have.
const mostMappings = 100

// toUnicode returns the table from numbers to characters.
func (s *subset) toUnicode() []byte {
	var b strings.Builder
	b.WriteString(`/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
`)
	for from := 0; from < len(s.chars); from += mostMappings {
		to := min(from+mostMappings, len(s.chars))
		fmt.Fprintf(&b, "%d beginbfchar\n", to-from)
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "<%04X> <%s>\n", i+1, utf16Hex(string(s.chars[i])))
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return []byte(b.String())
}
