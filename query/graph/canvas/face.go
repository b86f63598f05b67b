package canvas

import (
	_ "embed" // the fonts
	"strings"
	"sync"

	"github.com/rondo-db/rondo/query/graph/canvas/internal/truetype"
)

// The fonts are DejaVu Sans Mono and DejaVu Sans 2.37, made smaller by the test TestFonts;
// font/LICENSE is theirs. They are not packed: a command that draws one picture would spend a tenth
// of its time on them.
//
//go:generate go test . -run TestFonts -fonts /usr/share/fonts/truetype/dejavu
var (
	//go:embed font/DejaVuSansMono.ttf
	monoRegular []byte
	//go:embed font/DejaVuSansMono-Bold.ttf
	monoBold []byte
	//go:embed font/DejaVuSans.ttf
	sansRegular []byte
	//go:embed font/DejaVuSans-Bold.ttf
	sansBold []byte
)

// Metrics of the fonts, in units of the em square.
const (
	unitsPerEm  = 2048
	unitAdvance = 1233 // of every glyph of DejaVu Sans Mono
	unitAscent  = 1901
	unitDescent = 483
)

// A face is one of the fonts, and what hinting has to know of it.
type face struct {
	*truetype.Font
	name     string // as PostScript knows it
	measures measures
}

// A faceID is the number of a face.
type faceID uint8

// The parts of a number. 0 is DejaVu Sans Mono.
const (
	boldFace faceID = 1 << iota
	sansFace
	numFaces = 1 << iota
)

// faces read the faces when they are used first.
var faces = [numFaces]func() *face{
	sync.OnceValue(func() *face { return newFace("DejaVuSansMono", monoRegular) }),
	sync.OnceValue(func() *face { return newFace("DejaVuSansMono-Bold", monoBold) }),
	sync.OnceValue(func() *face { return newFace("DejaVuSans", sansRegular) }),
	sync.OnceValue(func() *face { return newFace("DejaVuSans-Bold", sansBold) }),
}

func newFace(name string, data []byte) *face {
	f, err := truetype.Parse(data)
	if err != nil {
		panic("canvas: the embedded font: " + err.Error()) // tests read it
	}
	return &face{Font: f, name: name, measures: measuresOf(f)}
}

// fixed are parts of names of families whose letters are equally wide.
var fixed = [...]string{"mono", "courier", "consol", "typewriter", "fixed", "terminal", "menlo", "monaco", "code"}

// Proportional reports whether text of the font has letters of different widths: the first family
// has a name that does not say otherwise.
func (f Font) Proportional() bool {
	family, _, _ := strings.Cut(strings.ToLower(f.Family), ",")
	for _, part := range fixed {
		if strings.Contains(family, part) {
			return false
		}
	}
	return strings.TrimSpace(family) != ""
}

// face returns the face of a run.
func (f Font) face(r Run) (id faceID) {
	if f.Bold || r.Bold {
		id |= boldFace
	}
	if f.Proportional() {
		id |= sansFace
	}
	return id
}

// glyph returns the glyph of a character, and its face: what DejaVu Sans lacks is drawn in the
// other one.
func (id faceID) glyph(c rune) (faceID, uint16) {
	n := faces[id]().Glyph(c)
	if n == 0 && id&sansFace != 0 {
		if n := faces[id&boldFace]().Glyph(c); n != 0 {
			return id & boldFace, n
		}
	}
	return id, n
}

// units returns the width of a character in units of the em square.
func (id faceID) units(c rune) int {
	if id&sansFace == 0 {
		return unitAdvance
	}
	id, n := id.glyph(drawable(c))
	return faces[id]().Advance(n)
}
