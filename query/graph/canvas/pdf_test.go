package canvas

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/rondo-db/rondo/query/graph/canvas/internal/truetype"
)

var streams = regexp.MustCompile(`(?s)/Length (\d+) >>\nstream\n`)

// validPDF fails unless the table of objects says where they are and all streams can be read. It
// returns the streams.
func validPDF(t *testing.T, data []byte) (contents [][]byte) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("%PDF-1.4\n")) || !bytes.HasSuffix(data, []byte("\n%%EOF\n")) {
		t.Fatalf("no PDF: %.40q", data)
	}
	var at, size int
	if _, err := fmt.Sscanf(string(data[bytes.LastIndex(data, []byte("startxref\n"))+10:]), "%d", &at); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(data[at:]), "xref\n0 %d\n", &size); err != nil {
		t.Fatal(err)
	}
	table := data[at+len(fmt.Sprintf("xref\n0 %d\n", size)):]
	for n := 1; n < size; n++ {
		offset, err := strconv.Atoi(string(table[20*n : 20*n+10]))
		if want := fmt.Sprintf("\n%d 0 obj\n", n); err != nil || !bytes.HasPrefix(data[offset-1:], []byte(want)) {
			t.Fatalf("object %d is not at %d: %v", n, offset, err)
		}
	}
	if !bytes.HasPrefix(table[20*size:], []byte("trailer\n")) {
		t.Fatalf("the table ends with %.40q", table[20*size:])
	}
	for _, m := range streams.FindAllSubmatchIndex(data, -1) {
		n, err := strconv.Atoi(string(data[m[2]:m[3]]))
		if err != nil || !bytes.HasPrefix(data[m[1]+n:], []byte("\nendstream\n")) {
			t.Fatalf("a stream of %d bytes does not end there: %v", n, err)
		}
		z, err := zlib.NewReader(bytes.NewReader(data[m[1] : m[1]+n]))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, content)
	}
	return contents
}

func TestPDFSample(t *testing.T) {
	data := encoded(t, PDF, 1, sample)
	keep(t, "sample.pdf", data)
	if n := len(validPDF(t, data)); n != 6 { // two fonts with their characters, a gradient of alpha, the page
		t.Errorf("%d streams", n)
	}
	if !bytes.Contains(data, []byte("/MediaBox [ 0 0 481 220 ]")) {
		t.Error("the page has another size")
	}
}

func TestPDFNested(t *testing.T) {
	contents := validPDF(t, encoded(t, PDF, 1.5, func(c Canvas) {
		c.Clip(Rect{Point{5, 5}, Point{0, 0}}, func() {
			c.Clip(Rect{}, func() { c.Fill(rgba(0, 0, 0, 255), []Point{{0, 0}, {1, 0}, {1, 1}}) })
		})
	}))
	page := contents[len(contents)-1]
	if q, Q := bytes.Count(page, []byte("q\n")), bytes.Count(page, []byte("Q\n")); q != 2 || Q != 2 {
		t.Errorf("%d states are saved, %d restored in\n%s", q, Q, page)
	}
}

// TestEmbeddedFonts states what the package takes for granted of its fonts.
func TestEmbeddedFonts(t *testing.T) {
	for i, unpack := range faces {
		f, mono := unpack(), faceID(i)&sansFace == 0
		if f.UnitsPerEm() != unitsPerEm || f.Ascent() != unitAscent || f.Descent() != unitDescent {
			t.Errorf("font %d: %d units an em, %d above, %d below", i, f.UnitsPerEm(), f.Ascent(), f.Descent())
		}
		for id := range f.Glyphs() {
			if w := f.Advance(uint16(id)); mono && w != unitAdvance {
				t.Errorf("font %d: glyph %d is %d units wide", i, id, w)
			}
		}
		for _, c := range "azAZ09%ÄßéŁžΩπЖя€µ°²→≤∞│█■✓\uFFFD" {
			if _, n := faceID(i).glyph(c); n == 0 || (mono || c < 0x2000) && f.Glyph(c) != n {
				t.Errorf("font %d lacks %q", i, c)
			}
		}
		for c, want := range map[rune]bool{'日': false, '\U0001F600': false, -1: false, 0: false, 0xffff: false, ' ': true} {
			if got := f.Glyph(c) != 0; got != want {
				t.Errorf("font %d: has U+%04X: %v", i, c, got)
			}
		}
	}
}

// TestSubset compares the outlines of a font made of some glyphs with the original's.
func TestSubset(t *testing.T) {
	var s subset
	for _, c := range "xÄéἊ½日" {
		s.number(c)
	}
	for i, unpack := range faces {
		f := unpack()
		small, err := truetype.Parse(append(s.font(f), 0)) // without a cmap
		if err == nil || small != nil {
			t.Fatalf("font %d: a font without characters can be read", i)
		}
		chars := map[rune]uint16{}
		var ids []uint16
		for n, c := range s.chars {
			ids = append(ids, f.Glyph(c))
			chars[c] = uint16(n + 1)
		}
		small, err = truetype.Parse(f.Subset(ids, cmap4(chars)))
		if err != nil {
			t.Fatal(err)
		}
		for n, c := range s.chars {
			if got := small.Glyph(c); got != uint16(n+1) {
				t.Errorf("font %d: %q is glyph %d", i, c, got)
			}
			if got, want := fmt.Sprint(small.Outline(uint16(n+1))), fmt.Sprint(f.Outline(f.Glyph(c))); got != want {
				t.Errorf("font %d: %q looks like\n%s, want\n%s", i, c, got, want)
			}
		}
	}
}
