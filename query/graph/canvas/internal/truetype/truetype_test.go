package truetype

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

func regular(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../font/DejaVuSansMono.ttf")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestOutlines(t *testing.T) {
	f, err := Parse(regular(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		char             rune
		contours, points int
		left, right      int16
		bottom, top      int16
	}{
		{' ', 0, 0, 0, 0, 0, 0},
		{'l', 1, 14, 160, 1034, 0, 1567},
		{'H', 1, 12, 137, 1096, 0, 1493},
		{'i', 2, 14, 178, 1092, 0, 1556},
		{'é', 3, 33, 123, 1112, -29, 1638}, // of an e and an accent
	} {
		points := slices.Concat(f.Outline(f.Glyph(want.char))...)
		if got := len(f.Outline(f.Glyph(want.char))); got != want.contours || len(points) != want.points {
			t.Errorf("%q has %d points in %d contours, want %d in %d", want.char, len(points), got, want.points, want.contours)
			continue
		}
		if len(points) == 0 {
			continue
		}
		x := func(a, b Point) int { return int(a.X) - int(b.X) }
		y := func(a, b Point) int { return int(a.Y) - int(b.Y) }
		left, right, bottom, top := slices.MinFunc(points, x).X, slices.MaxFunc(points, x).X, slices.MinFunc(points, y).Y, slices.MaxFunc(points, y).Y
		if left != want.left || right != want.right || bottom != want.bottom || top != want.top {
			t.Errorf("%q goes from %d, %d to %d, %d", want.char, left, bottom, right, top)
		}
	}
}

// TestDamagedFont reads fonts that are cut, or have wrong bytes: an error, or glyphs that are
// something, but no panic.
func TestDamagedFont(t *testing.T) {
	whole := regular(t)
	read := func(data []byte) (ok bool) {
		f, err := Parse(data)
		if err != nil {
			return false
		}
		for c := rune(0); c < 0x600; c += 7 {
			f.Outline(f.Glyph(c))
		}
		f.Subset([]uint16{1, 2, 3, uint16(f.Glyphs() - 1)}, nil)
		return true
	}
	if !read(whole) {
		t.Fatal("the whole font cannot be read")
	}
	for n := 0; n < len(whole); n += 4099 {
		if read(whole[:n]) {
			t.Errorf("a font of %d of %d bytes can be read", n, len(whole))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		data := slices.Clone(whole)
		for range 1 + random.IntN(20) {
			at := random.IntN(len(data))
			if random.IntN(2) == 0 {
				at = random.IntN(4096) // the tables of tables
			}
			data[at] = byte(random.Uint32())
		}
		read(data)
	}
}
