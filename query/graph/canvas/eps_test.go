package canvas

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

var epsSize = regexp.MustCompile(`(?m)^%%BoundingBox: 0 0 (\d+) (\d+)$`)

// validEPS fails unless data has the frame of an EPS, only printable ASCII, and as many states
// restored as saved.
func validEPS(t *testing.T, data []byte) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("%!PS-Adobe-3.0 EPSF-3.0\n")) || !bytes.HasSuffix(data, []byte("\nend restore\nshowpage\n%%EOF\n")) || !epsSize.Match(data) {
		t.Fatalf("no EPS: %.300q", data)
	}
	depth := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		for _, c := range []byte(line) {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("a line has the byte %02x: %.300q", c, line)
			}
		}
		switch {
		case len(line) > 255 && !strings.HasPrefix(line, "%%Title"):
			t.Fatalf("a line has %d bytes: %.300s", len(line), line)
		case line == "q":
			depth++
		case line == "Q":
			depth--
		}
		if depth < 0 {
			t.Fatal("a state is restored that was not saved")
		}
	}
	if depth != 0 {
		t.Fatalf("%d states are not restored", depth)
	}
}

func TestEPSSample(t *testing.T) {
	data := encoded(t, EPS, 1.5, sample)
	keep(t, "sample.eps", data)
	validEPS(t, data)
	if m := epsSize.FindSubmatch(data); string(m[1]) != "722" || string(m[2]) != "330" {
		t.Errorf("the picture is %s", m[0])
	}
}

// TestEPSBlends looks at the colours that a half transparent shape has over two others.
func TestEPSBlends(t *testing.T) {
	square := func(x0, x1 float64) []Point { return []Point{{x0, 0}, {x1, 0}, {x1, 10}, {x0, 10}} }
	data := encoded(t, EPS, 1, func(c Canvas) {
		c.Fill(rgba(255, 0, 0, 255), square(0, 10))
		c.Fill(rgba(0, 0, 255, 255), square(10, 40))
		c.Fill(rgba(0, 255, 0, 128), square(5, 45))
	})
	validEPS(t, data)
	for _, want := range []struct{ colour, patch string }{
		{rgb(rgba(127, 128, 0, 255)), "5 0 5 10 re\n"},
		{rgb(rgba(0, 128, 127, 255)), "10 0 30 10 re\n"},
		{rgb(rgba(127, 255, 127, 255)), "40 0 5 10 re\n"}, // over paper
	} {
		if piece := "q\n" + want.patch + "W\n" + want.colour + "rg\n5 0 m\n45 0 l\n"; !bytes.Contains(data, []byte(piece)) {
			t.Errorf("the picture lacks\n%s", piece)
		}
	}
}

// TestEPSManyCharacters uses more characters than one font has room for. No font is as large as a
// string may be.
func TestEPSManyCharacters(t *testing.T) {
	var all strings.Builder
	for c := rune(0x20); c < 0x2800; c++ {
		if faces[0]().Glyph(c) != 0 && !unseen(c) {
			all.WriteRune(c)
		}
	}
	data := encoded(t, EPS, 1, func(c Canvas) {
		c.Text(Text{Font: Font{Size: 8}, Color: rgba(0, 0, 0, 255), Runs: []Run{{Text: all.String()}, {Text: all.String(), Bold: true}}})
	})
	validEPS(t, data)
	fonts := bytes.Count(data, []byte("%%BeginResource"))
	if chars := len([]rune(all.String())); fonts < 2*chars/mostCodes || chars < 2000 {
		t.Errorf("%d characters are in %d fonts", chars, fonts)
	}
	for _, hex := range regexp.MustCompile(`(?s)/sfnts \[ <(.*?)>`).FindAllSubmatch(data, -1) {
		if n := len(bytes.ReplaceAll(hex[1], []byte("\n"), nil)) / 2; n > 65534 || n < 1000 {
			t.Errorf("a font has %d bytes", n)
		}
	}
}
